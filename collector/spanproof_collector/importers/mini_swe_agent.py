"""mini-swe-agent trajectories: a conversation in which each answer holds one command for a shell."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from spanproof_collector.importers._chat import Message, Open, calls_of, inference_of, said_by, with_result
from spanproof_collector.importers._content import content
from spanproof_collector.importers._documents import Document, documents, sessions
from spanproof_collector.importers._fields import (
    dollars,
    fingerprint,
    ident,
    listed,
    moment,
    obj,
    objects,
    openai_usage,
    text,
    whole,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Claim, Inference, Labels, Session, Termination, Turn
from spanproof_collector.model.values import Json

_SHELL: Final = "bash"
_COMPLETE: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_OBSERVED: Final = ("<returncode>", "<exception>")
_FENCED: Final = re.compile(r"```(?:mswea_bash_command|bash|sh|shell)\s*\n(.*?)\n?```", re.DOTALL)
_FORMAT: Final = "mini-swe-agent"
_LOOKED_AT: Final = 50

_ENDS: Final[dict[str, Termination]] = {
    "Submitted": "completed",
    "LimitsExceeded": "budget_exhausted",
    "TimeExceeded": "budget_exhausted",
    "UserInterruption": "cancelled",
    "KeyboardInterrupt": "cancelled",
}
"""Any other status is the name of the exception that broke the run off."""


@dataclass(frozen=True)
class MiniSweAgent:
    """Trajectory files with messages and information about the run, and older ones that are the bare messages."""

    name: str = "mini_swe_agent"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the trajectory of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        if found.kind == "object" and _fits(found.first):
            return sessions(file, _sessions)
        messages = found.kind == "array" and all("role" in obj(value) for value in found.values) and found.values
        return _bare(file) if messages and _shell_is_spoken(file) else None


def _fits(record: dict[str, Json]) -> bool:
    if not isinstance(record.get("messages"), list):
        return False
    marked = text(record.get("trajectory_format")) or ""
    return marked.startswith(_FORMAT) or "mini_version" in obj(record.get("info"))


def _shell_is_spoken(file: ReadableFile) -> bool:
    """True where a message near the beginning names the command that ends a task, or shows what a command gave."""
    for read in islice(documents(file), _LOOKED_AT):
        words = content(obj(read.value).get("content")).text if isinstance(read, Document) else ""
        if _COMPLETE in words or words.startswith(_OBSERVED):
            return True
    return False


def _bare(file: ReadableFile) -> Iterator[Session | Damage]:
    messages: list[Message] = []
    for read in documents(file):
        if isinstance(read, Damage):
            yield read
        elif isinstance(read.value, dict):
            messages.append(read.value)
        else:
            yield Damage(reason="no message: not an object", line=read.line)
    if file.damage is not None:
        yield Damage(reason=file.damage)
    turns = tuple(_turns(messages))
    yield Session(
        identity=(fingerprint(list(messages)),),
        turns=turns,
        termination="completed" if any(isinstance(turn, Claim) for turn in turns[-2:]) else None,
    )


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        yield Damage(reason="no trajectory of mini-swe-agent: messages or info is missing", line=document.line)
        return
    info = obj(record.get("info"))
    config, stats = obj(info.get("config")), obj(info.get("model_stats"))
    messages = objects(record.get("messages"))
    turns = tuple(_turns(messages))
    status = text(info.get("exit_status"))
    billed = any(isinstance(turn, Inference) and turn.cost is not None for turn in turns)
    facts: dict[str, str | int | float | bool | None] = {
        "termination": status,
        "api_calls": whole(stats.get("api_calls")),
    }
    yield Session(
        identity=(fingerprint(record),),
        agent_version=text(info.get("mini_version")),
        model=text(obj(config.get("model")).get("model_name")),
        labels=Labels(task_id=ident(record.get("instance_id")), facts=facts),
        turns=turns,
        termination=_ENDS.get(status, "infrastructure") if status is not None else None,
        answer=text(info.get("submission")) if status == "Submitted" else None,
        cut=status is None,
        cost=None if billed or not whole(stats.get("api_calls")) else dollars(stats.get("instance_cost")),
    )


def _turns(messages: list[Message]) -> Iterator[Turn]:
    """Yield the turns. What follows a command is its result, as a message of the user's side or of the tool's."""
    waiting: Inference | None = None
    pending = Open()

    def flush() -> Iterator[Turn]:
        if waiting is None:
            return
        yield replace(waiting, calls=tuple(pending.calls))
        for call in pending.calls:
            command = obj(call.arguments).get("command") if isinstance(call.arguments, dict) else None
            if isinstance(command, str) and _COMPLETE in command:
                yield Claim(state="success", text=command)

    for message in messages:
        role = message.get("role")
        if role == "assistant":
            yield from flush()
            waiting, pending = _inference(message), Open(calls=_commands(message))
            continue
        answers = role in ("user", "tool", "exit") and waiting is not None
        if answers and pending.answer(ident(message.get("tool_call_id")), _answered(message)):
            continue
        yield from flush()
        waiting, pending = None, Open()
        yield said_by(message)
    yield from flush()


def _answered(message: Message) -> Callable[[Call], Call]:
    extra = obj(message.get("extra"))
    given = with_result(message.get("content"))
    at = moment(extra.get("timestamp", message.get("timestamp")))
    raised = text(extra.get("exception_info"))
    return lambda call: replace(given(call), answered_at=at, error=raised)


def _inference(message: Message) -> Inference:
    extra = obj(message.get("extra"))
    response = obj(extra.get("response"))
    at = moment(extra.get("timestamp", message.get("timestamp")))
    choices = objects(response.get("choices"))
    return replace(
        inference_of(message),
        model=text(response.get("model")),
        response_id=text(response.get("id")),
        finish_reason=text(choices[0].get("finish_reason")) if choices else None,
        usage=openai_usage(response.get("usage")),
        cost=dollars(extra.get("cost")),
        at=at,
    )


def _commands(message: Message) -> list[Call]:
    """Return the commands of an answer: as the run took them, as functions, else the one fenced block.

    An answer with several blocks, or with none, was sent back unread.
    """
    extra = obj(message.get("extra"))
    taken = [
        Call(name=_SHELL, call_id=ident(action.get("tool_call_id")), arguments={"command": action["command"]})
        for action in objects(extra.get("actions"))
        if "command" in action
    ]
    if taken or calls_of(message):
        return taken or calls_of(message)
    if "actions" in extra and not listed(extra["actions"]):
        return []
    blocks = _FENCED.findall(content(message.get("content")).text)
    return [Call(name=_SHELL, arguments={"command": blocks[0]})] if len(blocks) == 1 else []
