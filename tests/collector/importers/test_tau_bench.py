import json
from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, foreign, tell


def asks(name: str, arguments: object, call_id: str = "c1") -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def answers(content: str, call_id: str = "c1") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "name": "ignored", "content": content}


def says(role: str, content: str) -> dict[str, object]:
    return {"role": role, "content": content}


OPENING = [says("system", "policy"), says("user", "Cancel order W1.")]
REWARD = {"reward": 1.0, "info": {"r_actions": True, "gt_data_hash": "x"}, "actions": []}


def run(*messages: object, reward: float = 1.0, trial: int = 0, task_id: int = 3, **info: object) -> dict[str, object]:
    told = {"task": {"user_id": "u1"}, "reward_info": REWARD} | info
    return {"task_id": task_id, "reward": reward, "info": told, "traj": [*OPENING, *messages], "trial": trial}


def test_a_run_has_its_calls_its_labels_and_the_reward_as_somebody_elses_word(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        run(
            asks("cancel_order", {"id": "W1"}), answers('{"id": "W1"}'), says("assistant", "It is cancelled."), trial=2
        ),
    )
    trial = told.trial
    assert told.imported.formats == {"tau_bench": 1}
    assert (trial.task_id, trial.attempt, trial.models, trial.suite) == ("3", 2, (), None)
    assert called(trial.tool_calls) == [("cancel_order", "c1", "yes")]
    assert trial.tool_calls[0].arguments == {"id": "W1"}
    assert foreign(trial) == {"reward": (1.0, None), "reward.r_actions": (1.0, None)}
    assert (trial.status, trial.final_answer, trial.timed) == ("complete", "It is cancelled.", False)


def test_a_reward_that_nobody_checked_is_no_verdict(store: Store, tmp_path: Path) -> None:
    trial = tell(store, tmp_path, run(says("assistant", "One moment."), reward=0.0, reward_info=None)).trial
    assert trial.foreign_results == ()
    assert (trial.status, trial.status_reason) == ("aborted", "budget_exhausted")


def test_a_run_that_the_harness_broke_off_is_no_failure_of_the_agent(store: Store, tmp_path: Path) -> None:
    broken = {"task_id": 1, "reward": 0.0, "info": {"error": "APIError", "traceback": "…"}, "traj": [], "trial": 0}
    trial = tell(store, tmp_path, broken).trial
    assert (trial.status, trial.status_reason, trial.foreign_results) == ("aborted", "infrastructure", ())


def test_a_write_that_failed_and_was_tried_again_happened_once(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        run(
            asks("update_order", {"id": "W1"}, "c1"),
            answers("Error: not enough stock", "c1"),
            asks("update_order", {"id": "W1"}, "c2"),
            answers('{"status": "cancelled", "id": "W1", "items": []}', "c2"),
        ),
    ).trial
    assert [call.effect.state for call in trial.tool_calls] == ["unknown", "reported"]
    assert trial.tool_calls[0].error == "Error: not enough stock"


def test_repeated_ids_keep_different_calls_apart(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        run(asks("get_order", {"id": "W1"}), answers("first"), asks("get_order", {"id": "W2"}), answers("second")),
    ).trial
    assert [(call.arguments, call.result) for call in trial.tool_calls] == [
        ({"id": "W1"}, "first"),
        ({"id": "W2"}, "second"),
    ]


@pytest.mark.parametrize("thought", ["Thought:\nLook first.\n", ""], ids=["react", "act"])
def test_actions_in_words_are_calls_and_responding_is_none(store: Store, tmp_path: Path, thought: str) -> None:
    def acts(name: str, arguments: object) -> dict[str, object]:
        return says("assistant", f"{thought}Action:\n{json.dumps({'name': name, 'arguments': arguments})}")

    trial = tell(
        store,
        tmp_path,
        run(
            acts("get_order", {"id": "W1"}),
            says("user", "API output: pending"),
            acts("respond", {"content": "It is pending."}),
            says("user", "Thanks."),
        ),
    ).trial
    assert called(trial.tool_calls) == [("get_order", None, "yes")]
    assert trial.tool_calls[0].result == "pending"
    assert trial.final_answer == "It is pending."


def test_a_broken_run_among_others_is_named_and_the_others_are_kept(store: Store, tmp_path: Path) -> None:
    whole = [run(says("assistant", "Done."), task_id=number) for number in range(3)]
    text = b"[\n" + b",\n".join(json.dumps(each).encode() for each in whole) + b"\n]"
    broken = text.replace(b'"task_id": 1', b'"task_id": nope')
    told = tell(store, tmp_path, broken)
    assert [trial.task_id for trial in told.trials] == ["0", "2"]
    assert [(each.path, each.line) for each in told.imported.rejected] == [("000", 3)]


def test_a_file_that_is_cut_off_gives_the_runs_before_the_cut(store: Store, tmp_path: Path) -> None:
    text = json.dumps([run(says("assistant", "Done."), task_id=number) for number in range(3)]).encode()
    told = tell(store, tmp_path, text[:-40])
    assert [trial.task_id for trial in told.trials] == ["0", "1"]
    assert [each.reason for each in told.imported.rejected] == ["the file ends inside this value"]


def test_importing_again_in_another_spelling_stores_nothing_twice(store: Store, tmp_path: Path) -> None:
    one = run(says("assistant", "Done."))
    told = tell(store, tmp_path, one, [one], json.dumps(one, indent=1).encode(), json.dumps([one, one]).encode())
    assert len(told.trials) == 1
    assert told.imported.formats == {"tau_bench": 4}


def test_the_task_is_defined_in_the_run_and_the_agents_words_are_kept_in_order(store: Store, tmp_path: Path) -> None:
    told: dict[str, object] = {"user_id": "u1", "actions": [], "outputs": ["12"], "instruction": "Ask for the price."}
    thinking = asks("get_order", {"id": "W1"}) | {"content": "Let me look."}
    spoken = [thinking, answers("pending"), says("assistant", "It is 12."), says("user", "Thanks.")]
    trial = tell(store, tmp_path, run(*spoken, says("assistant", "Bye."), task=told)).trial
    assert trial.task_definition == told
    words = [(each.text, each.with_calls) for each in trial.spoken]
    assert words == [("Let me look.", True), ("It is 12.", False), ("Bye.", False)]
