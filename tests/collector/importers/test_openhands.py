import json
from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, foreign, kinds, lines, tell


def base(number: int, source: str) -> dict[str, object]:
    return {"id": number, "timestamp": f"2025-01-27T23:16:{number:02}.000001", "source": source, "message": "…"}


def acts(number: int, action: str, source: str = "agent", **more: object) -> dict[str, object]:
    args = more.pop("args", {})
    return base(number, source) | {"action": action, "args": args} | more


def sees(number: int, observation: str, cause: int | None, content: str = "", **extras: object) -> dict[str, object]:
    return base(number, "agent") | {"observation": observation, "content": content, "extras": extras, "cause": cause}


def asked_by(response: str, name: str, call_id: str, *all_calls: tuple[str, str, object]) -> dict[str, object]:
    listed = [
        {"id": each, "type": "function", "function": {"name": called, "arguments": json.dumps(given)}}
        for each, called, given in all_calls
    ]
    message = {"role": "assistant", "content": "I try.", "tool_calls": listed}
    model = {
        "id": response,
        "model": "claude-3-5-sonnet",
        "choices": [{"finish_reason": "tool_calls", "message": message}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10}},
    }
    return {"tool_call_metadata": {"function_name": name, "tool_call_id": call_id, "model_response": model}}


TASK = acts(0, "message", "user", args={"content": "Rename it."})
END = acts(20, "finish", args={"final_thought": "It is renamed."})


def test_gaps_between_ids_and_changes_of_state_are_nobodys_steps(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        [
            base(0, "environment")
            | {"observation": "agent_state_changed", "content": "", "extras": {"agent_state": "init"}},
            acts(1, "change_agent_state", "environment", args={"agent_state": "init"}),
            sees(2, "null", 1),
            TASK,
            acts(5, "run", args={"command": "mv a b", "thought": "I move it."}),
            acts(7, "recall", "user", args={"query": "x"}),
            sees(9, "run", 5, "", exit_code=0),
            END,
        ],
    )
    trial = told.trial
    assert told.imported.formats == {"openhands": 1}
    assert [(c.name, c.arguments, c.result, c.executed) for c in trial.tool_calls] == [
        ("run", {"command": "mv a b"}, "", "yes")
    ]
    assert (kinds(trial), trial.final_answer, trial.status) == ("amtm", "It is renamed.", "complete")
    assert (trial.task_id, trial.attempt, trial.models) == (None, None, ())


def test_an_observation_answers_the_action_that_caused_it(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        [
            TASK,
            acts(3, "read", args={"path": "/a"}),
            acts(4, "read", args={"path": "/b"}),
            sees(5, "error", 4, "File not found: /b"),
            sees(6, "read", 3, "text of a"),
            END,
        ],
    ).trial
    assert [(c.arguments, c.result, c.error) for c in trial.tool_calls] == [
        ({"path": "/a"}, "text of a", None),
        ({"path": "/b"}, None, "File not found: /b"),
    ]


def test_actions_of_one_answer_are_one_step_with_the_functions_that_the_model_named(
    store: Store, tmp_path: Path
) -> None:
    asked = (("c1", "bash", {"command": "ls"}), ("c2", "edit", {"path": "/a", "text": "x"}))
    trial = tell(
        store,
        tmp_path,
        [
            TASK,
            acts(3, "run", args={"command": "ls", "blocking": False}) | asked_by("r1", "bash", "c1", *asked),
            acts(4, "edit", args={"path": "/a", "start": 1}) | asked_by("r1", "edit", "c2", *asked),
            sees(5, "edit", 4, "made"),
            sees(6, "run", 3, "a"),
            END,
        ],
    ).trial
    assert kinds(trial) == "amttm"
    assert [(c.name, c.call_id, c.arguments, c.result) for c in trial.tool_calls] == [
        ("bash", "c1", {"command": "ls"}, "a"),
        ("edit", "c2", {"path": "/a", "text": "x"}, "made"),
    ]
    assert (trial.usage.input_tokens, trial.usage.cache_read_tokens) == (50, 10)
    assert trial.models == ("claude-3-5-sonnet",)


def test_what_the_user_rejected_never_ran_and_what_the_user_typed_is_no_call_of_the_agents(
    store: Store, tmp_path: Path
) -> None:
    trial = tell(
        store,
        tmp_path,
        [
            TASK,
            acts(3, "run", args={"command": "rm -rf /"}),
            sees(4, "user_rejected", 3, "Not that."),
            acts(5, "run", "user", args={"command": "ls"}),
            sees(6, "run", 5, "a"),
            END,
        ],
    ).trial
    assert called(trial.tool_calls) == [("run", None, "no")]
    assert [(c.arguments, c.result) for c in trial.user_calls] == [({"command": "ls"}, "a")]


@pytest.mark.parametrize(("completed", "claim"), [("true", "success"), ("partial", "partial"), ("false", "failure")])
def test_the_end_says_how_the_task_stands(store: Store, tmp_path: Path, completed: str, claim: str) -> None:
    end = acts(9, "finish", args={"final_thought": "So it is.", "task_completed": completed})
    trial = tell(store, tmp_path, [TASK, end]).trial
    assert (trial.claim.state, trial.claim.source) == (claim, "declared")


def test_the_work_of_another_agent_belongs_to_the_call_that_delegated_it(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        [
            TASK,
            acts(3, "delegate", args={"agent": "BrowsingAgent", "inputs": {"task": "look"}}),
            acts(4, "browse", args={"url": "http://x"}),
            sees(5, "browse", 4, "a page"),
            acts(6, "finish", args={"thought": "I looked."}),
            sees(7, "delegate", None, "it is blue"),
            END,
        ],
    ).trial
    assert [(c.name, c.effect.effect_class, c.result) for c in trial.tool_calls] == [
        ("delegate", "handoff", "it is blue"),
        ("browse", "read", "a page"),
    ]
    assert (kinds(trial), trial.final_answer) == ("amtamtmm", "It is renamed.")


def test_a_condensed_history_is_no_step(store: Store, tmp_path: Path) -> None:
    condensed = acts(4, "condensation", args={"forgotten_event_ids": [0], "summary": "We renamed it."})
    trial = tell(store, tmp_path, [TASK, condensed, END]).trial
    assert (kinds(trial), trial.tool_calls) == ("am", ())


def test_outputs_of_the_harness_carry_task_model_bill_and_its_word(store: Store, tmp_path: Path) -> None:
    def output(number: int, **more: object) -> dict[str, object]:
        action, seen = acts(3, "run", args={"command": "ls"}), sees(4, "run", 3, "a")
        return {
            "instance_id": f"django__django-{number}",
            "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "gpt-4o"}, "dataset": "swe-bench"},
            "history": [[TASK, sees(1, "null", 0)], [action, seen], END] if number else [TASK, action, seen, END],
            "metrics": {"accumulated_cost": 0.75},
            "test_result": {"report": {"resolved": bool(number)}},
            "error": None,
        } | more

    stuck = output(2, error="RuntimeError: Agent reached maximum iteration.", test_result={})
    told = tell(store, tmp_path, lines(output(0), output(1), stuck))
    assert [trial.task_id for trial in told.trials] == [f"django__django-{number}" for number in range(3)]
    assert [foreign(trial) for trial in told.trials] == [{"resolved": (0.0, "false")}, {"resolved": (1.0, "true")}, {}]
    assert [trial.status_reason for trial in told.trials] == [None, None, "budget_exhausted"]
    first = told.trials[0]
    assert (first.models, first.suite, first.agent_name, str(first.cost.usd)) == (
        ("gpt-4o",),
        "swe-bench",
        "CodeActAgent",
        "0.75",
    )


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        ("no\n[The command completed with exit code 1.]\n[Current working directory: /w]", {}),
        ("no", {"metadata": {"exit_code": 1}}),
        ("no", {"exit_code": 1}),
    ],
)
def test_a_command_that_exits_with_an_error_ran_and_what_it_changed_is_unknown(
    store: Store, tmp_path: Path, words: str, extras: dict[str, object]
) -> None:
    ran = [acts(5, "run", args={"command": "mv a b"}), sees(9, "run", 5, words, **extras)]
    (call,) = tell(store, tmp_path, [TASK, *ran, END]).trial.tool_calls
    assert (call.executed, call.exit_code, call.error) == ("yes", 1, "exit code 1")
    assert (call.effect.state, call.effect.reason) == ("unknown", "exit_code")
