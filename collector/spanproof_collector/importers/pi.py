"""Session files of the coding agent pi: JSON lines, a line of the session first."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.importers._fields import ident, moment, obj, text
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._pi_messages import Item, PiMessages, entry_of
from spanproof_collector.importers._session import Inference, Labels, Said, Session, Turn, digest_of

_ROLES: Final = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom"})
_SUMMARIES: Final = frozenset({"compaction", "branch_summary"})


@dataclass(frozen=True)
class Pi:
    """Sessions of pi, and of agents that keep them in its format."""

    name: str = "pi"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the session of the file, or ``None`` where pi wrote no line of it.

        Raises:
            OSError: the file cannot be read.
        """
        return _session(file) if any(map(_is_line, file.opening)) else None


def _is_line(line: Item) -> bool:
    kind = line.get("type")
    if kind == "message":
        return obj(line.get("message")).get("role") in _ROLES and "timestamp" in line
    return kind == "session" and "id" in line and "cwd" in line


def _session(file: ReadableFile) -> Iterator[Found]:
    head: Item = {}
    reading = PiMessages()
    lines: list[str] = []
    cut = False
    for _, value in file.json_lines():
        cut = isinstance(value, Damage)
        if isinstance(value, Damage):
            yield value
            continue
        line = obj(value)
        at, key = moment(line.get("timestamp")), ident(line.get("id"))
        match line.get("type"):
            case "session":
                head = head or line
            case "message":
                reading.read([entry_of(obj(line.get("message")), at, key)])
            case "custom_message":
                reading.read([entry_of({"role": "custom", "content": line.get("content")}, at, key)])
            case kind if kind in _SUMMARIES:
                summary = text(line.get("summary")) or ""
                reading.say(Said(role="environment", text=summary, kind="compaction", at=at, key=key))
            case _:
                continue
        if not head.get("id"):
            lines.append(json.dumps(line, sort_keys=True))
    session_id = ident(head.get("id"))
    turns = reading.turns
    yield Session(
        identity=(session_id or digest_of("\n".join(lines).encode("utf-8", "replace")),),
        session_id=session_id,
        agent_name="pi",
        provider=text(head.get("provider")),
        labels=Labels(
            facts={
                "cwd": text(head.get("cwd")),
                "branched_from": text(head.get("branchedFrom")) or text(head.get("parentSession")),
            }
        ),
        turns=tuple(turns),
        termination="cancelled" if _aborted(turns) else None,
        cut=cut,
    )
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _aborted(turns: Sequence[Turn]) -> bool:
    """True where the user broke off the last answer and nothing followed."""
    last = turns[-1] if turns else None
    return isinstance(last, Inference) and last.finish_reason == "aborted"
