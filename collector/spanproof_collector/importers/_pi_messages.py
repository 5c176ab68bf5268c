"""Messages as pi writes them, and OpenClaw, which is built on it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._fields import dollars, ident, integer, moment, obj, objects, text, whole
from spanproof_collector.importers._session import Call, Inference, Said, Turn
from spanproof_collector.model.readings import ABSENT, Usage
from spanproof_collector.model.values import Json

Item = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message, when it was written, and its own id if it has one."""

    message: Item
    at: int | None
    key: str | None = None


@dataclass(slots=True)
class _Answer:
    turn: Inference
    calls: list[Call] = field(default_factory=list)


class PiMessages:
    """Brings messages together into turns: a result goes to the first open call with its id."""

    def __init__(self) -> None:
        self._turns: list[Turn | _Answer] = []
        self._open: list[tuple[_Answer, int]] = []

    @property
    def turns(self) -> list[Turn]:
        """The turns read so far."""
        return [
            replace(turn.turn, calls=tuple(turn.calls)) if isinstance(turn, _Answer) else turn for turn in self._turns
        ]

    def say(self, turn: Said) -> None:
        """Take a turn that is no message."""
        self._turns.append(turn)

    def read(self, entries: Iterable[Entry]) -> None:
        """Take messages."""
        for entry in entries:
            match entry.message.get("role"):
                case "assistant":
                    self._assistant(entry)
                case "toolResult":
                    self._result(entry)
                case "bashExecution":
                    self._turns.append(_typed(entry))
                case role:
                    self._turns += _said(entry, role)

    def _assistant(self, entry: Entry) -> None:
        message, at = entry.message, entry.at
        blocks = objects(message.get("content"))
        said = content([block for block in blocks if block.get("type") != "toolCall"])
        reason = text(message.get("stopReason"))
        failed = reason in ("error", "aborted")
        usage, cost = _usage(obj(message.get("usage")), failed=failed)
        answer = _Answer(
            Inference(
                text=said.text or None,
                reasoning=said.reasoning,
                parts=said.parts,
                model=text(message.get("model")),
                provider=text(message.get("provider")),
                response_id=text(message.get("responseId")),
                finish_reason=reason,
                usage=usage,
                cost=cost,
                error=(text(message.get("errorMessage")) or reason) if failed else None,
                at=at,
                key=entry.key,
            )
        )
        for block in blocks:
            if block.get("type") == "toolCall":
                self._open.append((answer, len(answer.calls)))
                answer.calls.append(
                    Call(
                        name=text(block.get("name")) or "",
                        call_id=ident(block.get("id")),
                        arguments=block.get("arguments", ABSENT),
                        at=at,
                    )
                )
        self._turns.append(answer)

    def _result(self, entry: Entry) -> None:
        message = entry.message
        call_id = ident(message.get("toolCallId"))
        value = plain_result(message.get("content"))
        place = next((n for n, (answer, i) in enumerate(self._open) if answer.calls[i].call_id == call_id), None)
        if place is None:
            part: Item = {"type": "tool_call_response", "id": call_id, "response": value}
            self._turns.append(Said(role="environment", parts=(part,), at=entry.at, key=entry.key))
            return
        answer, number = self._open.pop(place)
        call = replace(answer.calls[number], answered_at=entry.at)
        if message.get("isError") is True:
            call = replace(call, error=(value if isinstance(value, str) else content(value).text) or "error")
        else:
            call = replace(call, result=value)
        answer.calls[number] = call


def _said(entry: Entry, role: Json) -> Iterator[Said]:
    message = entry.message
    summary = text(message.get("summary"))
    if summary is not None:
        yield Said(role="environment", text=summary, kind="compaction", at=entry.at, key=entry.key)
        return
    said = content(message.get("content"))
    if said.text or said.parts:
        speaker = "user" if role == "user" else "system" if role == "system" else "environment"
        yield Said(role=speaker, text=said.text, parts=said.parts, at=entry.at, key=entry.key)  # type: ignore[arg-type]


def _typed(entry: Entry) -> Call:
    """Read a command that the human typed: no call of the agent's, though it may change things."""
    message = entry.message
    code = message.get("exitCode")
    output = message.get("output", ABSENT)
    failed = isinstance(code, int) and code != 0
    return Call(
        name="bash",
        arguments={"command": message.get("command")},
        result=ABSENT if failed else output,
        error=(output if isinstance(output, str) and output else f"exit code {code}") if failed else None,
        exit_code=integer(code),
        requestor="user",
        at=entry.at,
        key=entry.key,
    )


def _usage(used: Item, *, failed: bool) -> tuple[Usage, Decimal | None]:
    fresh, read, written = (whole(used.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    answered = whole(used.get("output"))
    if failed and not any((fresh, read, written, answered)):
        return Usage(), None  # broken off before anybody counted
    usage = Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=answered,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return usage, dollars(obj(used.get("cost")).get("total"))


def entry_of(message: Item, at: int | None = None, key: str | None = None) -> Entry:
    """Return a message with its time: the line's, else its own."""
    return Entry(message=message, at=at if at is not None else moment(message.get("timestamp")), key=key)
