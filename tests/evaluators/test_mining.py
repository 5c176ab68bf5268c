"""From recorded trials to tasks: failures come too, data of persons does not, and nothing runs that nobody finished."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from spanproof_collector.model.trials import ClaimState
from spanproof_evaluators.errors import JournalError, SuiteError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.journal import Confirmed, confirm, path_of, read_confirmed
from spanproof_evaluators.model.redacting import redacted
from spanproof_evaluators.model.result_files import read_results
from spanproof_evaluators.model.result_files.journals import journal_table
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import read_suite
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.reports.drafts import drafts_yaml
from spanproof_evaluators.runner.mining.candidates import drafts, fate_of, mine
from spanproof_evaluators.runner.mining.journal import counts, journal, rows
from spanproof_evaluators.runner.mining.layers import suggest
from tests.evaluators.factories import SECOND, START, assessed, call, trial

WORDS = ("refund", "move", "close", "find", "book", "send", "count", "rename", "sort", "merge")


def seen(
    at: int, outcome: Verdict, *, claim: ClaimState = "success", prompt: str | None = None, answer: str = "Done."
) -> Assessment:
    """Return a trial with a prompt of its own, the later the higher its number."""
    one = trial(f"t{at}", claim=claim, answer=answer)
    words = f"{WORDS[at % 10]} x{at} y{at} z{at} now" if prompt is None else prompt
    return assessed(replace(one, prompt=words, started_at=START + at * SECOND), outcome)


def test_candidates_come_from_every_stratum_and_failures_first() -> None:
    many = [seen(at, "verified") for at in range(50)]
    few = [seen(60, "failed"), seen(61, "failed", claim="failure"), seen(62, "unavailable")]
    found = mine([*many, *few], most=6, similar=0.8)
    fates = [one.fate for one in found.candidates]
    assert fates[:4] == ["false success", "failed", "unproven", "verified"]
    assert fates[4:] == ["verified", "verified"]  # the others have no more
    assert found.candidates[3].one.trial.trial_id == "t49"  # of a stratum the newest
    assert found.left == {"not_needed": 47}


def test_what_was_asked_before_is_not_asked_again() -> None:
    same = [seen(1, "failed", prompt="Refund order A-1 to Ada."), seen(2, "failed", prompt="refund order a-1 to ada")]
    known = ["Close order 7 and tell the customer."]
    found = mine([*same, seen(3, "failed", prompt=known[0])], most=9, similar=0.8, known=known)
    assert [one.one.trial.trial_id for one in found.candidates] == ["t2"]
    assert found.left == {"duplicate": 2}


def test_a_trial_without_a_recorded_prompt_is_counted_and_no_candidate() -> None:
    found = mine([replace(seen(1, "failed"), trial=trial("t1"))], most=9, similar=0.8)
    assert (found.candidates, found.left) == ((), {"no_prompt": 1})


def test_a_draft_keeps_where_it_comes_from_and_no_answer_and_loads_only_when_finished(tmp_path: Path) -> None:
    one = seen(1, "failed", prompt="Tell ada@example.com\nthat order 7 is late.", answer="I told her.")
    text = drafts_yaml(drafts(mine([one], most=1, similar=0.8)), suite_id="mined")
    assert "I told her" not in text
    assert "ada@example.com" not in text
    file = tmp_path / "mined.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match=r"mined-001 is a draft\. Write category, start, checks, what was redacted"):
        read_suite(file)
    whole = yaml.safe_load(text)
    del whole["tasks"][0]["fill_in"]
    whole["tasks"][0]["checks"] = [{"kind": "answer", "contains": ["late"]}]
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    (task,) = read_suite(file).tasks
    assert task.prompt == "Tell [email]\nthat order 7 is late."
    assert task.origin is not None
    assert (task.origin.source, task.origin.trial, task.origin.outcome) == ("failure", "t1", "failed")


@pytest.mark.parametrize(
    ("text", "left", "rules"),
    [
        ("write to a.b+c@mail.example.org now", "write to [email] now", {"email"}),
        ("card 4111 1111 1111 1111, please", "card [card], please", {"card"}),
        ("number 4111 1111 1111 1112, please", "number 4111 1111 1111 1112, please", set()),  # no checksum of a card
        ("to DE89 3704 0044 0532 0130 00.", "to [iban].", {"iban"}),
        ("part GB82 WEST 1234 5698 7654 33.", "part GB82 WEST 1234 5698 7654 33.", set()),
        ("call +49 30 901820 or (030) 901 820", "call [phone] or [phone]", {"phone"}),
        ("from 192.168.10.4 and 999.1.1.1", "from [ip] and 999.1.1.1", {"ip"}),
        ("use sk-abcdefghijklmnop and AKIAABCDEFGHIJKLMNOP", "use [secret] and [secret]", {"secret"}),
        ("postgres://joe:hunter2@db/shop", "postgres://[secret]@db/shop", {"secret"}),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [secret]", {"secret"}),
        ("password=hunter2 and more", "password=[secret] and more", {"secret"}),
        ("due 2026-04-14, order ORD-1001, 250 EUR", "due 2026-04-14, order ORD-1001, 250 EUR", set()),
    ],
)
def test_personal_data_goes_by_shape_and_what_only_looks_so_stays(text: str, left: str, rules: set[str]) -> None:
    found, counted = redacted(text)
    assert (found, set(counted)) == (left, rules)


def flagged(rule: str, one: Assessment | None = None) -> Assessment:
    """Return a failure of which a rule has something to say."""
    base = one or seen(1, "failed", claim="none")
    return replace(base, results=(*base.results, Result(evaluator=rule, state="fail", explanation="so it was")))


@pytest.mark.parametrize(
    ("one", "layer", "rule"),
    [
        (seen(1, "failed"), "verification", "false_success"),
        (flagged("check_before_completion"), "verification", "checked_claims"),
        (flagged("unsafe_retry"), "state", "effects"),
        (flagged("unsafe_retry", seen(1, "failed")), "state", "effects"),  # the surer sign, though success was claimed
        (flagged("repeats_since_write"), "state", "repeats"),
        (flagged("read_changed_state"), "context", "stale_read"),
        (flagged("tool_call_validity"), "context", "tool_calls"),
        (flagged("execution_errors"), "environment", "execution_errors"),
        (flagged("execution_errors", flagged("same_result")), "environment", "execution_errors"),
        (
            assessed(trial(claim="none", status="error", status_reason="timeout"), "failed"),
            "environment",
            "execution_errors",
        ),
        (
            assessed(trial(status="error", status_reason="infrastructure"), "unavailable"),
            "environment",
            "infrastructure",
        ),
        (seen(1, "failed", claim="failure"), "specification", "gave_up"),
        (seen(1, "failed", claim="none"), None, "none"),
    ],
)
def test_each_sign_suggests_its_layer_and_no_sign_suggests_none(one: Assessment, layer: str | None, rule: str) -> None:
    said = suggest(one)
    assert (said.layer, said.rule) == (layer, rule)


def test_the_journal_counts_what_people_confirmed_apart_from_what_rules_suggest(tmp_path: Path) -> None:
    unknown = assessed(
        replace(trial("t9", claim="none", calls=[call(state="unknown")]), started_at=START), "unavailable"
    )
    trials = [seen(1, "failed"), seen(2, "failed"), seen(3, "verified"), unknown]
    file = path_of(f"chdb://{tmp_path}/store")
    assert file == tmp_path / "store-journal.jsonl"
    for layer in ("context", "environment"):  # the last word stands
        confirm(file, Confirmed.of(trial="t1", layer=layer, at="2026-01-01T00:00:00+00:00", suggested="verification"))
    entries = journal(trials, read_confirmed(file))
    assert [entry.one.trial.trial_id for entry in entries] == ["t2", "t1", "t9"]  # the verified one is no failure
    assert counts(entries) == {
        "specification": {"confirmed": 0, "suggested": 0},
        "context": {"confirmed": 0, "suggested": 0},
        "environment": {"confirmed": 1, "suggested": 0},
        "verification": {"confirmed": 0, "suggested": 1},
        "state": {"confirmed": 0, "suggested": 0},
        "none": {"confirmed": 0, "suggested": 1},
    }
    table = journal_table(rows(entries))
    (tmp_path / "journal.md").write_text(table, encoding="utf-8")
    again = read_results(tmp_path / "journal.md")
    assert [row.layer for row in again.journal] == ["verification?", "environment", "?"]
    assert table.startswith("| Task")
    file.write_text('{"trial": "t1", "layer": "model", "at": ""}\n', encoding="utf-8")
    with pytest.raises(JournalError, match="'model' is none of"):
        read_confirmed(file)


def test_a_trial_that_broke_off_is_a_failure_whatever_became_of_its_task() -> None:
    assert fate_of(assessed(trial(claim="none", status="aborted"), "unavailable")) == "broke off"
    assert journal([assessed(trial(claim="none", status="aborted"), "unavailable")], {})
