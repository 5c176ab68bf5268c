"""Verifier files: checks attached to stored trials, after the fact, at the places that they name."""

import json
import socket
import sqlite3
from pathlib import Path

import pytest
import yaml

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Store, open_store
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import VerifierFileError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.suites import Suite, read_suite
from spanproof_evaluators.model.verifier_files import parse_verifier_file
from spanproof_evaluators.runner import assess, evaluate
from spanproof_evaluators.runner.verifier_files import VerifierFileChecks
from spanproof_instrumentation import semconv
from tests.evaluators.shop import attempt
from tests.factories import span, traces
from tests.storing import put

LIVE = """
id: live
destinations:
  shop: {sql: "sqlite:///worlds/{trial_id}.db", before: "sqlite:///snapshots/{task_id}.db"}
  work: {folder: "worlds/{trial_id}"}
verifiers:
  - id: refunded
    where: {task: refund, variant: [careful, fast]}
    checks:
      - {kind: sql, destination: shop, query: "select * from refunds where id = :id", params: {id: "{trial_id}"}}
  - id: answered
    where: {variant: fast}
    checks:
      - {kind: answer, contains: ["refunded"]}
"""


def database(path: Path, *ids: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("create table refunds (id text)")
        connection.executemany("insert into refunds values (?)", [(one,) for one in ids])
    connection.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a verifier file and the worlds that it names; the trial ``liar`` refunded nothing."""
    (tmp_path / "live.yaml").write_text(LIVE)
    database(tmp_path / "snapshots/refund.db")
    database(tmp_path / "worlds/good.db", "good")
    database(tmp_path / "worlds/liar.db")
    return tmp_path


def judged(store: Store, *paths: Path, suite: Suite | None = None) -> dict[str, Assessment]:
    """Evaluate, and return what is read back from the store."""
    list(evaluate(store, Filter(), suite, sources=[VerifierFileChecks.read(path) for path in paths]))
    return {one.trial.trial_id: one for one in assess(store, Filter(), suite)}


def test_checks_are_attached_by_filter_and_look_at_each_trial_s_own_world(store: Store, place: Path) -> None:
    put(
        store,
        attempt("good", refunds=None),
        attempt("liar", refunds=None, variant="fast", at=10),
        attempt("lost", refunds=None, variant="fast", at=20),
        attempt("other", refunds=None, variant="slow", at=30),
    )
    found = judged(store, place / "live.yaml")
    assert (found["good"].outcome.state, found["good"].outcome.effect_of_trial) == ("verified", "caused")
    assert (found["liar"].outcome.state, found["liar"].false_success) == ("failed", True)
    assert found["liar"].outcome.verifier == "live/refunded + live/answered"
    assert (found["lost"].outcome.state, found["lost"].outcome.reason) == ("unavailable", "connection_failed")
    assert found["other"].outcome.reason == "no_verifier"


def test_each_check_is_stored_with_its_receipt(store: Store, place: Path) -> None:
    put(store, attempt("good", refunds=None))
    (check,) = judged(store, place / "live.yaml")["good"].outcome.checks
    assert (check.kind, check.destination, check.passed) == ("sql", "shop", True)
    assert "good" in check.seen
    assert check.time is not None
    assert len(check.definition) == 64


def test_a_changed_file_is_another_definition_and_judges_anew(store: Store, place: Path) -> None:
    put(store, attempt("good", refunds=None))
    first = judged(store, place / "live.yaml")["good"].outcome
    assert judged(store)["good"].outcome == first
    (place / "live.yaml").write_text(LIVE.replace("where id = :id", "where id <> :id"))
    assert judged(store)["good"].outcome == first
    second = judged(store, place / "live.yaml")["good"].outcome
    assert (first.state, second.state) == ("verified", "failed")
    assert first.definition != second.definition


def test_what_another_version_of_the_file_found_is_stale_only_where_the_file_is_given(
    store: Store, place: Path
) -> None:
    put(store, attempt("good", refunds=None), attempt("other", refunds=None, variant="slow", at=10))
    judged(store, place / "live.yaml")

    def told() -> list[str]:
        given = [VerifierFileChecks.read(place / "live.yaml")]
        return [one.outcome.reason for one in assess(store, Filter(), verifiers=given)]

    assert told() == ["1 check passed", "no_verifier"]
    (place / "live.yaml").write_text(LIVE.replace("where id = :id", "where id <> :id"))
    assert told() == ["verifiers_changed", "no_verifier"]
    assert [one.outcome.state for one in assess(store, Filter())] == ["verified", "unavailable"]
    (place / "live.yaml").write_text(LIVE.replace("[careful, fast]", "slow"))
    assert told() == ["verifiers_changed", "verifiers_changed"]


def test_a_file_whose_filter_no_longer_fits_takes_its_word_back(store: Store, place: Path) -> None:
    put(store, attempt("good", refunds=None))
    judged(store, place / "live.yaml")
    (place / "live.yaml").write_text(LIVE.replace("task: refund", "task: other"))
    assert judged(store, place / "live.yaml")["good"].outcome.reason == "no_verifier"


def test_a_suite_can_look_at_destinations_too(store: Store, place: Path) -> None:
    document = yaml.safe_load(LIVE)
    task = {"id": "refund", "checks": document["verifiers"][0]["checks"]}
    path = place / "suite.yaml"
    path.write_text(yaml.safe_dump({"id": "shop", "destinations": document["destinations"], "tasks": [task]}))
    put(store, attempt("good", refunds=None), attempt("liar", refunds=None, at=10))
    found = judged(store, suite=read_suite(path))
    assert (found["good"].outcome.state, found["liar"].outcome.state) == ("verified", "failed")


@pytest.mark.parametrize("trial_id", ["../worlds/good", "..", "-rf", "a b", "x\nworlds", "good.db?mode=rw"])
def test_an_id_that_would_choose_the_place_is_no_place(store: Store, place: Path, trial_id: str) -> None:
    put(store, attempt(trial_id, refunds=None))
    (found,) = judged(store, place / "live.yaml").values()
    assert (found.outcome.state, found.outcome.reason) == ("unavailable", "placeholder_unsafe")


def test_a_label_stands_for_a_value_or_its_absence_is_a_gap(store: Store, place: Path) -> None:
    (place / "live.yaml").write_text(LIVE.replace('{id: "{trial_id}"}', '{id: "{label.order}"}'))
    put(store, attempt("good", refunds=None))
    found = judged(store, place / "live.yaml")["good"].outcome
    assert (found.state, found.reason) == ("unavailable", "placeholder_without_value")
    assert "label.order" in found.checks[0].seen


def test_a_label_may_hold_anything_where_it_is_a_bound_value(store: Store, place: Path) -> None:
    order = "it's; drop table refunds --"
    database(place / "worlds/labelled.db", order)
    (place / "live.yaml").write_text(LIVE.replace('{id: "{trial_id}"}', '{id: "{label.order}"}'))
    labels: dict[str, object] = {
        semconv.TRIAL_ID: "labelled",
        semconv.TASK_ID: "refund",
        semconv.VARIANT: "careful",
        f"{semconv.LABEL_PREFIX}order": order,
    }
    operation = {"gen_ai.operation.name": "invoke_agent"}
    put(store, traces(span("invoke_agent", {**operation, **labels})))
    assert judged(store, place / "live.yaml")["labelled"].outcome.state == "verified"


def test_a_service_that_is_not_there_is_given_up_after_three_trials(store: Store, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (tmp_path / "gone.yaml").write_text(
            f"id: gone\ndestinations: {{api: {{http: 'http://127.0.0.1:{taken.getsockname()[1]}'}}}}\n"
            "verifiers: [{id: v, checks: [{kind: http, destination: api, attempts: 1}]}]\n"
        )
        put(store, *(attempt(f"t{number}", refunds=None, at=10 * number) for number in range(5)))
        found = judged(store, tmp_path / "gone.yaml")
    reasons = sorted(one.outcome.reason for one in found.values())
    assert reasons == ["connection_failed"] * 3 + ["destination_given_up"] * 2


def test_one_missing_world_says_nothing_of_the_next(store: Store, place: Path) -> None:
    put(store, *(attempt(f"lost{number}", refunds=None, at=10 * number) for number in range(4)))
    put(store, attempt("good", refunds=None, at=90))
    assert judged(store, place / "live.yaml")["good"].outcome.state == "verified"


WHOLE = yaml.safe_load(LIVE)


def refused(**changed: object) -> VerifierFileError:
    with pytest.raises(VerifierFileError) as found:
        parse_verifier_file(json.dumps({**WHOLE, **changed}), name="live.json")
    return found.value


def check(**fields: object) -> dict[str, object]:
    return {"verifiers": [{"id": "v", "checks": [{"kind": "answer", "contains": ["x"], **fields}]}]}


@pytest.mark.parametrize(
    ("changed", "key", "why"),
    [
        ({"destinatoins": {}}, "destinatoins", "Did you mean 'destinations'?"),
        (check(contain=["x"]), "verifiers.0.checks.0.answer.contain", "Did you mean 'contains'?"),
        ({"verifiers": [{"id": "v", "wheer": {}, "checks": []}]}, "verifiers.0.wheer", "Did you mean 'where'?"),
        ({"verifiers": []}, "verifiers", "at least 1"),
        (check(kind="anwser"), "verifiers.0.checks.0", "answer"),
        (check(required=False), "verifiers.0", "nothing decides"),
        (check(weight=0), "verifiers.0.checks.0.answer.weight", "greater than 0"),
        ({"destinations": {}}, "", "looks at destination 'shop', which is not named"),
        ({"destinations": {"shop": {}}}, "destinations.shop", "give one of"),
        ({"destinations": {"shop": {"sql": "a", "git": "b"}}}, "destinations.shop", "give one of"),
        ({"destinations": {"shop": {"sql": "postgresql://u:pw@h/d"}}}, "destinations.shop", "a password stands in"),
        ({"destinations": {"shop": {"http": "https://u:pw@h/"}}}, "destinations.shop", "a password stands in"),
        ({"destinations": {"shop": {"sql": "sqlite:///{tiral_id}.db"}}}, "destinations.shop", "nothing is called"),
        ({"destinations": {"shop": {"http": "ftp://h"}}}, "destinations.shop", "begins with http"),
        (
            {"destinations": {"shop": {"http": "http://h", "headers": {"X-Api-Key": "abc"}}}},
            "destinations.shop",
            "header X-Api-Key holds a secret",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_key(changed: dict[str, object], key: str, why: str) -> None:
    error = refused(**changed)
    assert error.key == key
    assert why in error.why
    assert "pw@" not in str(error)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id: [", "no YAML"),
        ("id: a\nid: b\nverifiers: []", "'id' comes twice"),
        ("id: yes", "verifiers"),
        ("id: !!python/object/apply:os.system [true]", "no YAML"),
        ("- a", "should be an object"),
    ],
)
def test_yaml_that_is_none_or_says_two_things_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "live.yaml").write_text(text)
    with pytest.raises(VerifierFileError) as found:
        VerifierFileChecks.read(tmp_path / "live.yaml")
    assert why in str(found.value)


def test_yaml_and_json_say_the_same_and_words_stay_words(tmp_path: Path) -> None:
    text = LIVE.replace("task: refund,", "task: refund, since: 2026-01-31, label: {answer: no, at: 1:30},")
    (tmp_path / "live.yaml").write_text(text)
    read = VerifierFileChecks.read(tmp_path / "live.yaml")
    (tmp_path / "live.json").write_text(read.file.model_dump_json(exclude_defaults=True))
    assert VerifierFileChecks.read(tmp_path / "live.json").file.hash == read.file.hash
    wanted = read.attached[0][0]
    assert wanted.since == 1_769_817_600_000_000_000
    assert dict(wanted.labels) == {"answer": "no", "at": "1:30"}


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "live.yaml").write_text(LIVE.replace("task: refund,", "since: soon,"))
    with pytest.raises(VerifierFileError, match=r"verifiers\.refunded\.where\.since: 'soon' is no time"):
        VerifierFileChecks.read(tmp_path / "live.yaml")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_evaluate_takes_files_and_what_they_found_is_reported_later(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANPROOF_SETTLE", "0")
    monkeypatch.setenv("SPANPROOF_STORE", f"chdb://{place}/store")
    with open_store(f"chdb://{place}/store") as store:
        put(store, attempt("good", refunds=None), attempt("liar", refunds=None, variant="fast", at=10))
    code, out, _ = run(capsys, "evaluate", "--verifiers", str(place / "live.yaml"), "--json")
    assert code == 0
    outcomes = {one["trial_id"]: one["state"] for one in json.loads(out)["results"] if one["evaluator"] == "outcome"}
    assert outcomes == {"good": "verified", "liar": "failed"}
    code, out, err = run(capsys, "evaluate", "--json")
    assert (code, json.loads(out)["kept"]) == (0, {"live": 2})
    assert "2 outcomes by live kept" in err
    code, out, _ = run(capsys, "show", "liar", "--json")
    shown = json.loads(out)["outcome"]
    assert (code, shown["state"], shown["verifier"]) == (0, "failed", "live/refunded + live/answered")
    assert shown["checks"][0]["time"].isdigit()
    code, out, _ = run(capsys, "trials", "--json")
    assert [json.loads(line)["false_success"] for line in out.splitlines()] == [True, False]
    code, _, err = run(capsys, "evaluate", "--verifiers", str(place / "live.yaml"), "--variant", "careful")
    assert (code, "verifier live/answered fits none" in err, "live/refunded" in err) == (0, True, False)
    twice = ["--verifiers", str(place / "live.yaml")] * 2
    code, _, err = run(capsys, "evaluate", *twice)
    assert (code, "id 'live'" in err) == (2, True)


def test_the_schema_is_printed_and_a_file_is_checked_without_running_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from jsonschema import Draft202012Validator

    code, out, _ = run(capsys, "verifiers", "schema")
    schema = json.loads(out)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert code == 0
    assert validator.is_valid(WHOLE)
    assert not validator.is_valid({**WHOLE, "destinatoins": {}})
    code, out, err = run(capsys, "verifiers", "check", str(place / "live.yaml"))
    assert (code, len(out.strip())) == (0, 64)
    assert "live: 2 verifiers, 2 checks" in err
    (place / "live.yaml").write_text("id: x")
    assert run(capsys, "verifiers", "check", str(place / "live.yaml"))[0] == 2


def test_a_check_that_could_not_run_is_shown_with_what_was_met_instead(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANPROOF_SETTLE", "0")
    monkeypatch.setenv("SPANPROOF_STORE", f"chdb://{place}/store")
    with open_store(f"chdb://{place}/store") as store:
        put(store, attempt("lost", refunds=None))
    code, _, _ = run(capsys, "evaluate", "--verifiers", str(place / "live.yaml"))
    assert code == 0
    _, out, _ = run(capsys, "show", "lost")
    assert "there was no connection: OperationalError: unable to open database file" in " ".join(out.split())
