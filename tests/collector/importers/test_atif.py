import json
from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, tell


def call(name: str, call_id: str, **arguments: object) -> dict[str, object]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def result(content: object, call_id: str | None = None, **more: object) -> dict[str, object]:
    return ({"source_call_id": call_id} if call_id else {}) | ({} if content is None else {"content": content}) | more


def agent(number: int, message: object, *calls: object, results: object = None, **more: object) -> dict[str, object]:
    told: dict[str, object] = {"step_id": number, "source": "agent", "message": message}
    told |= {"tool_calls": list(calls)} if calls else {}
    told |= {"observation": {"results": results}} if results is not None else {}
    return told | more


def user(number: int, message: str = "Do it.", **more: object) -> dict[str, object]:
    return {"step_id": number, "source": "user", "message": message} | more


def trajectory(*steps: object, session: str = "s1", **more: object) -> dict[str, object]:
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": session,
        "agent": {"name": "worker", "version": "2.0", "model_name": "gpt-4o"},
        "steps": list(steps),
    } | more


def test_parallel_calls_one_failed_and_one_unanswered_stay_three_cases(store: Store, tmp_path: Path) -> None:
    calls = [call("send_mail", "a"), call("pay_bill", "b"), call("book_room", "c")]
    results = [result("Error: no funds", "b"), result("sent", "a"), result(None, "c")]
    told = tell(store, tmp_path, trajectory(user(1), agent(2, "All.", *calls, results=results), agent(3, "Partly.")))
    trial = told.trial
    assert told.imported.formats == {"atif": 1}
    assert [(c.call_id, c.executed, c.effect.state, c.effect.reason) for c in trial.tool_calls] == [
        ("a", "yes", "reported", "tool_reported"),
        ("b", "unknown", "unknown", "error_text"),
        ("c", "unknown", "unknown", "no_result"),
    ]
    assert (trial.agent_name, trial.agent_version, trial.models, trial.session_id) == (
        "worker",
        "2.0",
        ("gpt-4o",),
        "s1",
    )
    assert kinds(trial) == "amtttm"


def test_commands_in_words_have_an_unknown_effect(store: Store, tmp_path: Path) -> None:
    words = "<function=execute_bash>\n<parameter=command>echo hi > a\n</parameter>\n</function>"
    trial = tell(
        store,
        tmp_path,
        trajectory(user(1), agent(2, words, results=[result("exit code 0")]), agent(3, "<function=finish></function>")),
    ).trial
    assert [(c.name, c.arguments, c.executed, c.effect.state) for c in trial.tool_calls] == [
        ("execute_bash", {"command": "echo hi > a"}, "unknown", "unknown")
    ]


def test_an_answer_that_the_harness_could_not_read_is_a_step_and_no_call(store: Store, tmp_path: Path) -> None:
    good = json.dumps({"plan": "…", "commands": [{"keystrokes": "ls\n", "duration": 0.1}], "task_complete": False})
    done = json.dumps({"plan": "…", "commands": [], "task_complete": True})
    trial = tell(
        store,
        tmp_path,
        trajectory(
            user(1),
            agent(2, f"Here: {good}", results=[result("Previous response had parsing errors")]),
            agent(3, good, results=[result("New Terminal Output:")]),
            agent(4, done, results=[result("Are you sure?")]),
        ),
    ).trial
    assert [(c.name, c.arguments) for c in trial.tool_calls] == [("bash", {"command": "ls\n", "duration": 0.1})]
    assert (kinds(trial).count("m"), trial.claim.state, trial.claim.source) == (3, "success", "declared")


CONTINUED = [
    trajectory(user(1), agent(2, "A.", call("make", "c1"), results=[result("ok", "c1")]), continued_trajectory_ref="x"),
    trajectory(
        user(1, is_copied_context=True),
        agent(2, "I ask.", is_copied_context=True),
        agent(3, "B.", call("make", "c1"), results=[result("ok", "c1")]),
        agent(4, "It is made."),
        session="s1-cont-1",
        agent={"name": "worker", "model_name": "gpt-4o", "extra": {"continuation_index": 1}},
    ),
]


@pytest.mark.parametrize("order", [CONTINUED, CONTINUED[::-1]], ids=["in order", "the other way round"])
def test_a_continued_trajectory_is_one_session(store: Store, tmp_path: Path, order: list[object]) -> None:
    trial = tell(store, tmp_path, *order).trial
    assert called(trial.tool_calls) == [("make", "c1", "yes"), ("make", "c1", "yes")]
    assert (trial.status, trial.final_answer, trial.session_id) == ("complete", "It is made.", "s1")
    assert [step.kind for step in trial.steps].count("model_call") == 3


def test_the_first_part_alone_has_no_outcome(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, CONTINUED[0]).trial
    assert (trial.status, trial.status_reason, trial.claim.state) == ("incomplete", "recording_cut", "unavailable")


def test_a_later_part_alone_lacks_its_beginning(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, CONTINUED[1]).trial
    assert (trial.status, trial.status_reason) == ("incomplete", "root_missing")


CHILD = trajectory(user(1), agent(2, "Three trends."), session="child", agent={"name": "summarizer"})
PARENT = trajectory(
    user(1),
    agent(
        2,
        "I delegate.",
        call("delegate", "c1"),
        results=[result("Done.", "c1", subagent_trajectory_ref=[{"session_id": "child"}])],
    ),
    agent(3, "The end."),
)


@pytest.mark.parametrize(
    "content",
    [
        {"parent": PARENT, "child": CHILD},
        {"child": CHILD, "parent": PARENT},
        PARENT | {"subagent_trajectories": [CHILD]},
    ],
    ids=["by name", "child first", "embedded"],
)
def test_a_referenced_trajectory_is_a_run_inside_of_the_call(store: Store, tmp_path: Path, content: object) -> None:
    trial = tell(store, tmp_path, content).trial
    assert [(c.name, c.effect.effect_class) for c in trial.tool_calls] == [("delegate", "handoff")]
    assert (kinds(trial), trial.agent_name, trial.final_answer) == ("amtamm", "worker", "The end.")


def test_trajectories_that_refer_to_each_other_end(store: Store, tmp_path: Path) -> None:
    back = [result("…", "c2", subagent_trajectory_ref=[{"session_id": "s1"}])]
    child = trajectory(agent(1, "Back.", call("delegate", "c2"), results=back), session="child")
    for content in (PARENT | {"subagent_trajectories": [child]}, {"a": PARENT, "b": child}):
        told = tell(store, tmp_path, content)
        assert [c.call_id for trial in told.trials for c in trial.tool_calls] == ["c1", "c2"]


def test_an_embedded_trajectory_that_nothing_refers_to_is_kept(store: Store, tmp_path: Path) -> None:
    child = CHILD | {"session_id": "forgotten"}
    trial = tell(store, tmp_path, trajectory(user(1), agent(2, "The end."), subagent_trajectories=[child])).trial
    assert (kinds(trial), trial.final_answer) == ("amam", "The end.")


def test_what_was_handed_to_finishing_is_the_answer(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store, tmp_path, trajectory(user(1), agent(2, "Bye!", call("finish", "c1", message="I made it.")))
    ).trial
    assert (trial.final_answer, trial.status, trial.claim.state) == ("I made it.", "complete", "success")


def test_totals_count_only_where_steps_do_not_tell(store: Store, tmp_path: Path) -> None:
    totals = {"total_prompt_tokens": 30, "total_completion_tokens": 3, "total_cached_tokens": 10, "total_cost_usd": 0.5}
    metrics = {"prompt_tokens": 20, "completion_tokens": 2, "cached_tokens": 5, "cost_usd": 0.25}
    told = tell(
        store,
        tmp_path,
        trajectory(agent(1, "Hi."), session="bare", final_metrics=totals),
        trajectory(agent(1, "Hi.", metrics=metrics), session="metered", final_metrics=totals),
    )
    assert [
        (t.usage.input_tokens, t.usage.cache_read_tokens, t.usage.output_tokens, str(t.cost.usd)) for t in told.trials
    ] == [(30, 10, 3, "0.5"), (20, 5, 2, "0.25")]


def test_words_may_come_in_parts_and_pictures_become_placeholders(store: Store, tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
    ]
    trial = tell(store, tmp_path, trajectory(user(1), agent(2, parts))).trial
    assert trial.final_answer == "Look."
