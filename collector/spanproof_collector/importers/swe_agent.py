"""SWE-agent trajectories: a model writes one command a step, a shell with commands of its own runs it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._chat import calls_of, said_by
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import (
    dollars,
    fingerprint,
    ident,
    obj,
    objects,
    text,
    whole,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import (
    Call,
    Claim,
    Inference,
    Labels,
    Said,
    Session,
    Termination,
    Turn,
)
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.values import Json

_SHELL: Final = "bash"
_SUBMIT: Final = "submit"
_FORFEIT: Final = frozenset({"exit_forfeit", "forfeit"})
_NO_ACTION: Final = frozenset({"", "exit_format", "exit_cost", "exit_context", "exit_error", "exit_api"})
"""What stands for the action of a step in which no command was run."""

_EXIT: Final = re.compile(r"(?:(?P<submitted>submitted)\s*)?\(?(?P<status>\w*)\)?")
_BUDGETS: Final = frozenset(
    {"exit_cost", "exit_context", "exit_format", "exit_total_execution_time", "exit_command_timeout", "exit_max_steps"}
)
_BREAKDOWNS: Final = frozenset({"exit_api", "exit_error", "exit_environment_error", "early_exit"})


@dataclass(frozen=True)
class SweAgent:
    """Files with the suffix ``.traj``, of versions before and after 1.0."""

    name: str = "swe_agent"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the trajectory of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        return sessions(file, _sessions) if _fits(outline(file.path).first) else None


def _fits(record: dict[str, Json]) -> bool:
    steps = record.get("trajectory")
    first = objects(steps)[:1]
    shaped = isinstance(steps, list) and all("action" in step and "response" in step for step in first)
    return shaped and "info" in record and ("history" in record or "replay_config" in record or bool(first))


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        yield Damage(reason="no trajectory of SWE-agent: trajectory, history or info is missing", line=document.line)
        return
    info, config = obj(record.get("info")), _config(record.get("replay_config"))
    stats = obj(info.get("model_stats"))
    called = bool(whole(stats.get("api_calls")))
    status = text(info.get("exit_status"))
    problem = obj(config.get("problem_statement"))
    facts: dict[str, str | int | float | bool | None] = {
        "environment": text(record.get("environment")),
        "termination": status,
    }
    yield Session(
        identity=(fingerprint(record),),
        agent_version=text(info.get("swe_agent_version")),
        model=text(obj(obj(config.get("agent")).get("model")).get("name")),
        labels=Labels(
            task_id=ident(problem.get("id")) or ident(record.get("instance_id")) or ident(info.get("instance_id")),
            facts=facts,
        ),
        turns=tuple(_turns(record, status)),
        termination=_termination(status),
        answer=text(info.get("submission")) if _status(status) == (True, "") else None,
        cut=status is None and "exit_status" in info,
        usage=_usage(stats) if called else None,
        cost=dollars(stats.get("instance_cost", stats.get("total_cost"))) if called else None,
    )


def _config(value: Json) -> dict[str, Json]:
    if not isinstance(value, str):
        return obj(value)
    try:
        return obj(json.loads(value))
    except (ValueError, RecursionError):
        return {}


def _usage(stats: Mapping[str, Json]) -> Usage:
    return Usage(input_tokens=whole(stats.get("tokens_sent")), output_tokens=whole(stats.get("tokens_received")))


def _status(status: str | None) -> tuple[bool, str]:
    """Split ``submitted (exit_cost)``: what was there when the budget ran out was submitted, by the harness."""
    found = _EXIT.fullmatch(status or "")
    return (found["submitted"] is not None, found["status"]) if found else (False, status or "")


def _termination(status: str | None) -> Termination | None:
    submitted, reason = _status(status)
    if reason in _BUDGETS:
        return "budget_exhausted"
    if reason in _BREAKDOWNS:
        return "infrastructure"
    if submitted or reason in _FORFEIT:
        return "completed"
    return None


def _turns(record: dict[str, Json], status: str | None) -> Iterator[Turn]:
    history = objects(record.get("history"))
    for message in history:
        if message.get("role") == "assistant" and not message.get("is_demo"):
            break
        if not message.get("is_demo"):
            yield said_by(message)
    spoken = iter([m for m in history if m.get("role") == "assistant" and not m.get("is_demo")])
    for step in objects(record.get("trajectory")):
        message = next((message for message in spoken if _told_by(message, step)), {})
        action = step.get("action")
        command = action.strip() if isinstance(action, str) else ""
        yield _inference(step, message, command)
        if command in _NO_ACTION and text(step.get("observation")):
            yield Said(role="environment", text=str(step["observation"]))
        if command.split(maxsplit=1)[:1] == [_SUBMIT] and _status(status)[1] == "":
            yield Claim(state="success", text=command)
    if _status(status)[1] in _FORFEIT:
        yield Claim(state="failure", text=status)


def _told_by(message: dict[str, Json], step: dict[str, Json]) -> bool:
    """True where a message of the history is a step's: it says the same and takes the same action."""
    same_words = message.get("content") == step.get("response")
    return same_words and message.get("action", step.get("action")) == step.get("action")


def _inference(step: dict[str, Json], message: dict[str, Json], command: str) -> Inference:
    said = Inference(text=text(step.get("response")) or text(step.get("thought")))
    asked = objects(step.get("tool_calls")) or objects(message.get("tool_calls"))
    if asked:
        calls = calls_of({"tool_calls": list(asked)})
    elif command in _NO_ACTION:
        return said
    else:
        calls = [Call(name=_tool(command), arguments={"command": step["action"]})]
    answer = step.get("observation")
    # one command a step, also where the model asked for more
    answered = replace(calls[0], result=answer) if answer is not None else calls[0]
    return replace(said, calls=(answered, *calls[1:]))


def _tool(command: str) -> str:
    """Submitting is a command of SWE-agent's own; of the others the shell is what they were given to."""
    return _SUBMIT if command.split(maxsplit=1)[0] == _SUBMIT else _SHELL
