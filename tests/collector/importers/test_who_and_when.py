from pathlib import Path

import pytest

from spanproof_collector.store import Store
from tests.collector.importers.recording import foreign, kinds, tell

NO_CODE = "There is no code from the last 1 message for me to execute."


def named(name: str, content: str) -> dict[str, str]:
    return {"name": name, "role": "user", "content": content}


def by_role(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def run(*history: object, **more: object) -> dict[str, object]:
    return {
        "history": list(history),
        "question": "How many?",
        "question_ID": "q1",
        "ground_truth": "3",
        "mistake_agent": "Coder",
        "mistake_step": "1",
        "mistake_reason": "It made the number up.",
    } | more


def test_entries_with_names_are_the_steps_of_several_agents(store: Store, tmp_path: Path) -> None:
    told = tell(
        store,
        tmp_path,
        run(
            named("Coder", "You are given a task."),
            named("Computer_terminal", NO_CODE),
            named("Coder", "Run it:\n```python\nprint(2)\n```"),
            named("Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 2"),
            named("Checker", "Two.\n\nTERMINATE"),
            is_correct=False,
        ),
    )
    trial = told.trial
    assert told.imported.formats == {"who_and_when": 1}
    assert [(c.name, c.executed) for c in trial.tool_calls] == [
        ("Computer_terminal", "no"),
        ("Computer_terminal", "yes"),
    ]
    assert trial.tool_calls[1].arguments == {"code": "print(2)\n"}
    assert kinds(trial) == "atmtm"
    assert (trial.task_id, trial.attempt, trial.models, trial.status) == ("q1", None, (), "complete")
    assert foreign(trial) == {"is_correct": (0.0, "false"), "mistake": (1.0, "Coder")}
    assert trial.foreign_results[-1].explanation == "It made the number up."


@pytest.mark.parametrize(("spelled", "score"), [("False", 0.0), ("True", 1.0), (False, 0.0)])
def test_roles_tell_who_speaks_and_truth_may_come_as_text(
    store: Store, tmp_path: Path, spelled: object, score: float
) -> None:
    trial = tell(
        store,
        tmp_path,
        run(
            by_role("human", "How many?"),
            by_role("Orchestrator (thought)", "I plan."),
            by_role("Orchestrator (-> ComputerTerminal)", "Please run the script."),
            by_role("ComputerTerminal", "The script ran, then exited with Unix exit code: 0"),
            by_role("Orchestrator (termination condition)", "FINAL ANSWER: 2"),
            is_corrected=spelled,
        ),
    ).trial
    assert foreign(trial)["is_corrected"] == (score, str(bool(score)).lower())
    assert [(c.name, c.arguments) for c in trial.tool_calls] == [
        ("ComputerTerminal", {"instruction": "Please run the script."})
    ]
    assert (kinds(trial), trial.final_answer) == ("ammtm", "FINAL ANSWER: 2")


def test_a_thought_is_no_answer(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store, tmp_path, run(by_role("human", "?"), by_role("Orchestrator (thought)", "Request satisfied."))
    ).trial
    assert (trial.final_answer, trial.claim.state) == (None, "none")


def test_a_terminal_that_spoke_twice_was_run_twice(store: Store, tmp_path: Path) -> None:
    terminal = named("Computer_terminal", NO_CODE)
    trial = tell(
        store, tmp_path, run(named("Coder", "A task."), terminal, terminal, named("Coder", "Hm."), terminal, terminal)
    ).trial
    assert [c.executed for c in trial.tool_calls] == ["no"] * 4


def test_code_that_failed_is_an_error_of_the_terminal(store: Store, tmp_path: Path) -> None:
    failed = "exitcode: 1 (execution failed)\nCode output: Traceback (most recent call last)"
    history = (named("Coder", "A task."), named("Coder", "```sh\nrm a\n```"), named("Computer_terminal", failed))
    (call,) = tell(store, tmp_path, run(*history)).trial.tool_calls
    assert (call.executed, call.error, call.result) == ("yes", "exitcode: 1 (execution failed)", failed)
    assert (call.exit_code, call.effect.state, call.effect.reason) == (1, "unknown", "exit_code")
