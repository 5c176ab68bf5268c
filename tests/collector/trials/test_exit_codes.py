"""A command that ran and ended with another code than 0 did run: one rule for whoever ran it."""

import pytest

from spanproof_collector.store import Store
from spanproof_collector.trials.effects.exit_codes import exit_code_of
from tests.factories import agent, span, tool, traces
from tests.storing import trial_of

RM = {"command": "rm a"}


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"stdout": "", "exit_code": 2}, 2),
        ({"returncode": 0}, 0),
        ({"output": "", "metadata": {"exit_code": 7}}, 7),
        ({"exitCode": True}, None),
        ({"exit_code": "1"}, None),
        ([{"type": "text", "text": "Exit code: 3\nno"}], 3),
        ("Exit code 1\nrm: no", 1),
        ("exitcode: 1 (execution failed)\nCode output: no", 1),
        ("<returncode>2</returncode>\n<output>\n</output>", 2),
        ("Output: no\nError: (none)\nExit Code: 1\nSignal: (none)", 1),
        ("no\n\nCommand exited with code 4", 4),
        ("no\n[The command completed with exit code 5.]\n[Current working directory: /w]", 5),
        ("no\n[The command completed with exit code -1.]", -1),
        ("x" * 9000 + "\nCommand exited with code 6", 6),
        ("the manual says that exit code 1 means no match", None),
        ("grep: done\nexit code: 1 is what it gives for no match\n", None),
        ("", None),
        (None, None),
    ],
)
def test_an_answer_of_a_command_tells_its_exit_code(told: object, code: int | None) -> None:
    assert exit_code_of(told, runs_commands=True) == code  # type: ignore[arg-type]  # JSON, as a table holds it


def test_words_about_exit_codes_count_only_where_a_command_ran() -> None:
    assert exit_code_of("Exit code 1\nrm: no", runs_commands=False) is None


@pytest.mark.parametrize("error", [None, "Exit code 1"])
def test_a_span_of_a_command_that_exited_with_an_error_says_that_it_ran(store: Store, error: str | None) -> None:
    """With the span marked as failed or not, with a result or the code alone: it is the same command."""
    result = {"stdout": "", "exit_code": 1} if error is None else None
    trial = trial_of(
        store,
        traces(span("run", agent(), seconds=9), span("bash", tool("bash", RM, result), parent="run", error=error)),
    )
    (call,) = trial.tool_calls
    assert (call.executed, call.exit_code, call.effect.effect_class) == ("yes", 1, "destructive")
    assert (call.effect.state, call.effect.reason) == ("unknown", "exit_code")


def test_the_code_on_the_span_itself_counts_and_zero_is_a_result(store: Store) -> None:
    spans = [
        span(
            "bash",
            tool("bash", {"command": f"rm {code}"}, "said", **{"process.exit.code": code}),
            key=str(code),
            at=code,
        )
        for code in (0, 1)
    ]
    fine, wrong = trial_of(store, traces(*spans)).tool_calls
    assert (fine.exit_code, fine.effect.state, fine.error) == (0, "reported", None)
    assert (wrong.exit_code, wrong.effect.state, wrong.error) == (1, "unknown", "exit code 1")


def test_a_read_that_exited_with_an_error_changed_nothing(store: Store) -> None:
    asked = tool("bash", {"command": "grep x a"}, {"exit_code": 1})
    (call,) = trial_of(store, traces(span("bash", asked))).tool_calls
    assert (call.executed, call.effect.state) == ("yes", "none")
