import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanproof_evaluators.environments import Answer, Call, NoWorldError, Recording, environment
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suites import parse_suite
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.runner.replaying import dry, replay
from spanproof_evaluators.runner.replaying_mutants import mutation_score
from spanproof_evaluators.runner.replaying_trials import Replaying, recording_of
from tests.evaluators import factories
from tests.evaluators.environments.recorded import call, record, shop

CANCEL = [call("list_orders"), call("cancel_order", id="W1"), call("get_order", id="W1")]


def test_a_replay_tells_end_state_changes_and_a_verdict_with_the_state_before(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    found = replay(record(world, CANCEL, "cancel"), world)
    assert (found.outcome.state, found.outcome.effect_of_trial, found.outcome.pre_state) == (
        "verified",
        "caused",
        "failed",
    )
    assert found.outcome.verifier == "replay:shop/cancel"
    assert [(step.done, step.same, step.changed) for step in found.steps] == [
        ("applied", True, False),
        ("applied", True, True),
        ("applied", True, False),
    ]
    assert found.divergence is None
    assert found.changes == (
        {"path": "/notes/1", "before": None, "after": {"id": 1, "text": "cancelled W1"}},
        {"path": "/orders/W1/state", "before": "open", "after": "cancelled"},
    )
    assert found.start != found.end
    with sqlite3.connect(tmp_path / "shop.db") as file:  # the start file itself is as it was
        assert file.execute("SELECT state FROM orders WHERE id = 'W1'").fetchall() == [("open",)]
    file.close()


@pytest.mark.parametrize(
    ("task", "calls", "state", "effect"),
    [
        ("cancel", [], "failed", "unchanged"),
        ("cancel", [*CANCEL, call("add_note", text="twice")], "failed", "unchanged"),
        ("look", [call("list_orders")], "verified", "vacuous"),
        ("look", [call("cancel_order", id="W2")], "failed", "damaged"),
        ("unheard of", CANCEL, "unavailable", None),
    ],
)
def test_the_verdict_is_about_the_world_alone(
    tmp_path: Path, task: str, calls: Sequence[Call], state: str, effect: str | None
) -> None:
    world = environment(str(shop(tmp_path)))
    found = replay(record(world, calls, task), world)
    assert (found.outcome.state, found.outcome.effect_of_trial) == (state, effect)


def test_the_first_answer_that_differs_is_named_with_both(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    recording = record(world, CANCEL, "cancel")
    other = replace(recording.calls[1], recorded=Answer(result={"id": "W1", "state": "shipped"}))
    found = replay(replace(recording, calls=(recording.calls[0], other, recording.calls[2])), world)
    assert found.outcome.state == "verified"  # the world came out as meant, whatever was said of it
    assert found.outcome.details["divergence"] == {
        "call": 1,
        "tool": "cancel_order",
        "arguments": {"id": "W1"},
        "recorded": {"result": {"id": "W1", "state": "shipped"}, "error": None, "comparable": True},
        "came": {"result": {"id": "W1", "state": "cancelled"}, "error": None, "comparable": True},
    }


def test_an_error_in_the_recording_and_in_the_world_is_part_of_the_run(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    recording = record(world, [call("add_note", text=None), call("no_such_tool"), *CANCEL], "cancel")
    assert [one.recorded is not None and one.recorded.error is not None for one in recording.calls[:2]] == [True, True]
    found = replay(recording, world)
    assert (found.outcome.state, found.divergence) == ("verified", None)
    lost = replace(recording.calls[0], recorded=Answer(result=7))
    assert replay(replace(recording, calls=(lost, *recording.calls[1:])), world).divergence == 0


def test_a_call_that_never_ran_is_not_made(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    recording = record(world, [*CANCEL, call("add_note", text="refused")], "cancel")
    refused = replace(recording.calls[-1], executed="no", recorded=None)
    found = replay(replace(recording, calls=(*recording.calls[:-1], refused)), world)
    assert (found.outcome.state, found.steps[-1].done, found.steps[-1].changed) == ("verified", "not_executed", None)


def test_a_verdict_that_hangs_on_a_call_nobody_knows_to_have_run_is_none(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    silent = replace(call("cancel_order", id="W1"), executed="unknown", recorded=None)
    found = replay(Recording(task_id="cancel", calls=(silent,)), world)
    assert (found.outcome.state, found.outcome.reason) == ("unavailable", "execution_unknown")
    reading = replace(silent, name="list_orders", arguments={})
    assert replay(Recording(task_id="look", calls=(reading,)), world).outcome.state == "verified"
    both_fail = replace(silent, arguments={"id": "W2"})
    assert replay(Recording(task_id="cancel", calls=(both_fail,)), world).outcome.state == "failed"


def test_irreversible_tools_are_called_only_when_allowed_by_name(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    deleting = call("delete_order", "destructive", id="W1")
    recording = record(world, [deleting], "delete")
    held = replay(recording, world)
    assert (held.outcome.state, held.outcome.reason) == ("unavailable", "dry_run: delete_order")
    assert (held.steps[0].done, held.changes) == ("dry_run", ())
    assert replay(recording, world, allowed=["pay_order"]).steps[0].done == "dry_run"
    assert replay(recording, world, allowed=["delete_order"]).outcome.state == "verified"
    own_list = replay(record(world, [call("pay_order", "write", id="W1", amount=3)], "look"), world)
    assert own_list.outcome.reason == "dry_run: pay_order"
    # somebody saw that it had changed nothing: leaving it out is no gap
    harmless = replace(recording.calls[0], changed=False)
    assert replay(Recording(task_id="look", calls=(harmless,)), world).outcome.state == "verified"


def test_in_a_simulated_world_nothing_is_irreversible_but_what_it_lists(tmp_path: Path) -> None:
    config = shop(tmp_path)
    config.write_text(config.read_text() + "simulated: true\n")
    world = environment(str(config))
    assert replay(record(world, [call("delete_order", "destructive", id="W1")], "delete"), world).outcome.state == (
        "verified"
    )
    assert replay(record(world, [call("pay_order", id="W1", amount=3)]), world).steps[0].done == "dry_run"


def test_a_dry_run_makes_no_world(tmp_path: Path) -> None:
    config = shop(tmp_path)
    world = environment(str(config))
    recording = record(world, [*CANCEL, call("delete_order", "destructive", id="W1")], "cancel")
    (tmp_path / "shop.db").unlink()
    found = dry(recording, world)
    assert [step.done for step in found.steps] == ["applied", "applied", "applied", "dry_run"]
    assert (found.outcome.state, found.outcome.reason) == ("unavailable", "dry_run")


@dataclass
class Counter:
    """An environment of somebody else: it counts."""

    name: str = "counter"
    version: str = "1"
    simulated: bool = True
    irreversible: frozenset[str] = frozenset()
    breaks: str = ""
    closed: list[int] = field(default_factory=list)

    def fits(self, recording: Recording) -> bool:
        """Whether it is recorded from a counter."""
        return recording.source == "import:counter"

    def start(self, recording: Recording) -> "CounterWorld":
        """Begin at none."""
        if self.breaks == "start":
            raise NoWorldError("task_unknown", "there is no such task")
        return CounterWorld(self)


@dataclass
class CounterWorld:
    """One count."""

    of: Counter
    count: int = 0

    def apply(self, call: Call) -> Answer:
        """Count one, whatever is called."""
        if self.of.breaks == "apply":
            raise OSError("the disk is full")
        self.count += 1
        return Answer(result=self.count)

    def state(self) -> Plain:
        """Return the count."""
        return {"count": self.count}

    def close(self) -> None:
        """Say so."""
        self.of.closed.append(self.count)

    def verify(self, done: Recording) -> Sequence[Check]:
        """Ask for three, and for a word."""
        return [Check(name="three", passed=self.count == 3), Check(name="said", passed=bool(done.words or done.answer))]

    def beside(self, done: Recording) -> dict[str, Plain]:
        """Tell one thing more."""
        return {"odd": self.count % 2 == 1}


def test_any_object_of_the_protocol_is_an_environment_and_judges_by_words_too() -> None:
    counting = Counter()
    recording = record(counting, [call("add")] * 3)
    found = replay(recording, counting)
    assert (found.outcome.state, found.outcome.effect_of_trial, found.beside) == ("verified", "caused", {"odd": True})
    assert replay(replace(recording, answer=None), counting).outcome.state == "failed"
    assert counting.closed == [3, 3, 3]  # the recorded world, and one for each replay


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        ("start", "task_unknown: there is no such task"),
        ("apply", "environment_failed: OSError: the disk is full"),
    ],
)
def test_a_world_that_breaks_is_no_failure_of_the_trial(breaks: str, reason: str) -> None:
    recording = record(Counter(), [call("add")] * 3)
    broken = Counter(breaks=breaks)
    found = replay(recording, broken)
    assert (found.outcome.state, found.outcome.reason) == ("unavailable", reason)
    assert len(broken.closed) == (breaks == "apply")


def test_a_changed_call_list_shows_whether_the_verdict_notices(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    recording = record(world, CANCEL, "cancel")
    dropped = [one for one in recording.calls if one.name != "cancel_order"]
    doubled = [recording.calls[1], *recording.calls]
    altered = [replace(one, arguments={"id": "W2"}) if one.name == "cancel_order" else one for one in recording.calls]
    assert [replay(recording, world, calls=calls).outcome.state for calls in (dropped, doubled, altered)] == [
        "failed"
    ] * 3


GONE = """expected:
  gone: [{tool: delete_order, arguments: {id: W1}}]"""

SUITE = """{"id": "shop", "tasks": [{"id": "other", "checks": [
    {"kind": "rows", "table": "orders", "where": {"id": "W1", "state": "cancelled"}, "exactly": 1}]}]}"""


def test_the_checks_of_a_suite_judge_a_world_that_knows_no_criteria(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    task = parse_suite(SUITE, name="suite.json").task("other")
    found = replay(record(world, CANCEL, "other"), world, task=task)
    assert (found.outcome.state, found.outcome.effect_of_trial) == ("verified", "caused")
    assert replay(record(world, CANCEL[:1], "other"), world, task=task).outcome.state == "failed"


TOOLS = st.one_of(
    st.builds(lambda order: call("get_order", id=order), st.sampled_from(["W1", "W2", "W3"])),
    st.builds(lambda order: call("cancel_order", id=order), st.sampled_from(["W1", "W2", "W3"])),
    st.builds(lambda text: call("add_note", text=text), st.one_of(st.none(), st.text(max_size=5))),
    st.builds(lambda count: call("add_note", text=count), st.integers(min_value=-(2**70), max_value=2**70)),
    st.just(call("list_orders")),
    st.just(call("no_such_tool")),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(TOOLS, max_size=6), at=st.integers(min_value=0, max_value=5))
def test_a_session_recorded_from_a_world_never_diverges_in_it_and_a_lie_is_found(
    tmp_path: Path, calls: list[Call], at: int
) -> None:
    config = tmp_path / "shop.yaml"
    world = environment(str(config if config.exists() else shop(tmp_path)))
    recording = record(world, calls)
    found = replay(recording, world)
    assert (found.divergence, len(found.steps)) == (None, len(calls))
    if at < len(calls):
        lie = replace(recording.calls[at], recorded=Answer(result="something that no tool says"))
        told = (*recording.calls[:at], lie, *recording.calls[at + 1 :])
        assert replay(replace(recording, calls=told), world).divergence == at


def test_the_mutation_score_counts_what_the_verdict_notices(tmp_path: Path) -> None:
    world = environment(str(shop(tmp_path)))
    strict = record(world, CANCEL, "cancel")
    found = mutation_score(strict, world, replay(strict, world))
    # dropped; doubled, which writes its note twice; and the order's name altered, which cancels none
    assert [(one.mutant.kind, one.mutant.argument, one.state) for one in found.judged] == [
        ("drop", None, "killed"),
        ("double", None, "killed"),
        ("alter", "/id", "killed"),
    ]
    assert (found.killed, found.total, found.value) == (3, 3, 1.0)
    # a check that looks at one order alone sees neither the second note nor what else is written
    task = parse_suite(SUITE, name="suite.json").task("other")
    weak = record(world, [*CANCEL, call("add_note", text="bought")], "other")
    loose = mutation_score(weak, world, replay(weak, world, task=task), task=task)
    assert [one.state for one in loose.judged] == [
        *("killed", "survived", "killed"),
        *("survived", "survived", "survived"),
    ]
    assert loose.value == 2 / 6


def test_mutants_that_leave_the_world_as_it_was_count_nowhere(tmp_path: Path) -> None:
    config = shop(tmp_path)
    config.write_text(config.read_text().replace("[pay_order]", "[]").replace("expected:", GONE))
    world = environment(str(config))
    gone = record(world, [call("delete_order", id="W1")], "gone")
    found = mutation_score(gone, world, replay(gone, world))
    assert [(one.mutant.kind, one.state) for one in found.judged] == [
        ("drop", "killed"),
        ("double", "equivalent"),
        ("alter", "killed"),
    ]
    assert (found.killed, found.total) == (2, 2)
    nothing = Recording(task_id="look")
    assert mutation_score(nothing, world, replay(nothing, world)).value is None
    failed = record(world, [call("add_note", text="x")], "gone")
    assert mutation_score(failed, world, replay(failed, world)).judged == ()


def test_a_trial_becomes_a_recording_with_the_users_calls_in_their_place() -> None:
    look, pay = factories.call("look"), factories.call("pay", executed="no", effect_class="destructive")
    seen = replace(look, effect=replace(look.effect, reason="no_recorded_change"), result="3", result_source="span")
    told = replace(
        factories.trial("t"),
        tool_calls=(replace(seen, started_at=1), replace(pay, started_at=3)),
        user_calls=(replace(look, name="reboot", started_at=2, error="no power"),),
    )
    found = recording_of(told).calls
    assert [(one.name, one.by, one.executed, one.effect_class, one.changed) for one in found] == [
        ("look", "agent", "yes", "read", False),
        ("reboot", "user", "yes", "read", None),
        ("pay", "agent", "no", "destructive", None),
    ]
    assert [one.recorded for one in found] == [Answer(result="3"), Answer(error="no power"), None]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"status": "aborted", "status_reason": "infrastructure"}, "infrastructure"),
        ({"source": "import:other"}, "no_environment"),
        ({"calls_whole": False}, "calls_not_captured"),
        ({"captured": False}, "arguments_not_captured"),
    ],
)
def test_a_trial_that_cannot_be_replayed_says_why(changed: dict[str, object], reason: str) -> None:
    one = factories.call("add", {}, captured=changed.pop("captured", True) is True)
    whole = changed.pop("calls_whole", True) is True
    told = replace(factories.trial("t"), source="import:counter", tool_calls=(one,))
    told = replace(told, completeness=replace(told.completeness, calls_whole=whole))
    found = Replaying(among=(Counter(),)).outcome(replace(told, **changed))  # type: ignore[arg-type]
    assert (found.state, found.reason.split(":")[0]) == ("unavailable", reason)
