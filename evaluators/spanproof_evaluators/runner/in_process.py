"""Cases of Python tried in this process: the loops of the founding texts, with rows that are recounted honestly.

There is no isolation here: agent and case share the process. For that, and for spans, there is ``spanproof suite run``.

    found = try_cases(agent, [AgentFall(...)], attempts=3)            # agent.kor(uppgift, varld) -> {steg, tokens, …}
    found = try_eval_cases(agent_fn, [EvalCase(...)], execute_tools)   # agent_fn(messages) -> response

Cases are told by their fields, whatever class they are of.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from spanproof_evaluators.model.result_files import ResultFile
from spanproof_evaluators.model.result_files._format import BUDGET, AttemptRow
from spanproof_evaluators.model.result_files.rows import DONE
from spanproof_evaluators.runner.result_files import without_verdict


class Fall(Protocol):
    """A case with a start state and an end state that is inspected."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def uppgift(self) -> str:
        """What is asked."""

    @property
    def starttillstand(self) -> Callable[[], object]:
        """Makes a fresh world."""

    @property
    def verifiera(self) -> Callable[[object], object]:
        """Inspects the world."""


class Agent(Protocol):
    """An agent of such cases."""

    def kor(self, uppgift: str, varld: object, /) -> Mapping[str, object]:
        """Work in the world, and tell ``steg``, ``tokens``, ``sek`` and ``status``."""


def try_cases(agent: Agent, cases: Sequence[Fall], *, attempts: int = 3) -> ResultFile:
    """Try every case so often, each in a fresh world, and return a row an attempt.

    A start state or a verifier that raises is nobody's failure but ours: no verdict. A verifier that returns anything
    but a bool is one that could not judge. An agent that raises did not come to its end; its world is judged.
    """
    rows = []
    for case in cases:
        for attempt in range(attempts):
            rows.append(_tried(agent, case, attempt))
    return ResultFile(format="agent_fall_rows", attempts=tuple(rows))


def _tried(agent: Agent, case: Fall, attempt: int) -> AttemptRow:
    row = AttemptRow(task=case.id, attempt=attempt, passed=None)
    try:
        world = case.starttillstand()
    except Exception as error:
        return without_verdict(row, f"the start state: {error!r}")
    started = time.monotonic()
    told: Mapping[str, object] = {}
    status = "error"
    try:
        told = agent.kor(case.uppgift, world)
        status = str(told["status"])
    except Exception as error:
        status = f"error: {error!r}"
    seconds = told.get("sek")
    try:
        verdict = case.verifiera(world)
    except AssertionError:
        verdict = False
    except Exception as error:
        return without_verdict(row, f"the verifier: {error!r}")
    if not isinstance(verdict, bool):
        return without_verdict(row, f"the verifier returned {type(verdict).__name__}, and no bool")
    return AttemptRow(
        task=case.id,
        attempt=attempt,
        passed=verdict,
        reason="" if status == DONE else status,
        steps=_whole(told.get("steg")),
        tokens=_whole(told.get("tokens")),
        seconds=float(seconds) if isinstance(seconds, int | float) else time.monotonic() - started,
        aborted=status != DONE,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Usage(Protocol):
    """What a response took."""

    input_tokens: int
    output_tokens: int


class Response(Protocol):
    """What a model answered."""

    stop_reason: str

    @property
    def usage(self) -> Usage:
        """What it took."""


class Case(Protocol):
    """The smallest shape of a case."""

    name: str
    prompt: str
    max_turns: int
    max_tokens: int

    @property
    def check(self) -> Callable[[str], object]:
        """Given the path of the workspace, returns a result with ``passed``, ``score`` and ``details``."""


Messages = list[dict[str, object]]


def try_eval_cases(
    agent_fn: Callable[[Messages], Response],
    cases: Sequence[Case],
    execute_tools: Callable[..., object],
) -> ResultFile:
    """Try every case once in a workspace of its own, and return a row each.

    ``execute_tools(response, messages, cwd=workspace)`` makes the calls that a response asks for. Tokens beyond the
    limit fail the case as an exhausted budget; a check or tool that raises leaves it without a verdict (R023).
    """
    return ResultFile(
        format="eval_report", attempts=tuple(_tried_case(agent_fn, case, execute_tools) for case in cases)
    )


def _tried_case(
    agent_fn: Callable[[Messages], Response], case: Case, execute_tools: Callable[..., object]
) -> AttemptRow:
    row = AttemptRow(task=case.name, attempt=0, passed=None)
    with tempfile.TemporaryDirectory(prefix="spanproof-case-") as workspace:
        messages: Messages = [{"role": "user", "content": case.prompt}]
        turns = tokens = 0
        ended = False
        try:
            while turns < case.max_turns:
                response = agent_fn(messages)
                tokens += response.usage.input_tokens + response.usage.output_tokens
                if tokens > case.max_tokens:
                    return AttemptRow(
                        task=case.name,
                        attempt=0,
                        passed=False,
                        reason=BUDGET,
                        score=0.0,
                        steps=turns,
                        tokens=tokens,
                        aborted=True,
                        details="Token budget exceeded",
                    )
                if response.stop_reason != "tool_use":
                    ended = True
                    break
                execute_tools(response, messages, cwd=workspace)
                turns += 1
            result = case.check(workspace)
        except Exception as error:
            return without_verdict(row, f"Error: {error}")
        passed, score = getattr(result, "passed", None), getattr(result, "score", None)
        if not isinstance(passed, bool):
            return without_verdict(row, f"the check returned {type(result).__name__} without a verdict")
    return AttemptRow(
        task=case.name,
        attempt=0,
        passed=passed and ended,
        reason="" if ended else BUDGET,
        score=float(score) if isinstance(score, int | float) else None,
        steps=turns,
        tokens=tokens,
        aborted=not ended,
        details=str(getattr(result, "details", "")) if ended else f"{case.max_turns} turns were not enough",
    )
