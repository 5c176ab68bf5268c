"""The lines of a Claude Code session: which session and which agent each belongs to, and in which order they came."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from spanproof_collector.importers._fields import moment, obj, objects, text
from spanproof_collector.model.values import Json

Line = dict[str, Json]

_CLEAR: Final = "<command-name>/clear</command-name>"


@dataclass(slots=True, kw_only=True)
class Thread:
    """The lines of one agent in one session, in order."""

    agent_id: str | None = None
    """``None``: the main agent."""

    lines: list[Line] = field(default_factory=list)

    @property
    def opening(self) -> str:
        """What the agent was asked first."""
        return words(self.lines[0]) if self.lines else ""


@dataclass(slots=True, kw_only=True)
class Threads:
    """One session: the main agent's lines, and those of the agents that worked for it."""

    session_id: str | None
    main: Thread = field(default_factory=Thread)
    others: list[Thread] = field(default_factory=list)


def is_line(value: Line) -> bool:
    """True for a line that Claude Code wrote, of whatever type."""
    kind = value.get("type")
    if kind in ("user", "assistant"):
        message = obj(value.get("message"))
        known = "uuid" in value or "parentUuid" in value or "sessionId" in value or "session_id" in value
        return known and message.get("role") == kind
    return (kind == "summary" and "leafUuid" in value) or (kind == "system" and "parentUuid" in value)


def content_of(line: Line) -> list[Line]:
    """Return the blocks of a line's message; a plain text is one block."""
    content = obj(line.get("message")).get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def words(line: Line) -> str:
    """Return what a line says in words."""
    said = (text(block.get("text")) for block in content_of(line) if block.get("type") == "text")
    return "\n".join(word for word in said if word)


def clears(line: Line) -> bool:
    """True where the user began anew within the file."""
    return line.get("type") == "user" and words(line).lstrip().startswith(_CLEAR)


def threads(lines: Sequence[Line]) -> Iterator[Threads]:
    """Yield the sessions in these lines, each with its agents. A line that was written twice counts once."""
    by_session: dict[str | None, list[Line]] = defaultdict(list)
    seen: set[str] = set()
    alone = {found for line in lines if (found := _session_of(line)) is not None}
    default = next(iter(alone)) if len(alone) == 1 else None
    for line in _in_order(lines):
        uuid = text(line.get("uuid"))
        if uuid is not None and uuid in seen:
            continue
        if uuid is not None:
            seen.add(uuid)
        by_session[_session_of(line) or default].append(line)
    for session_id, own in by_session.items():
        yield _split(session_id, own)


def _session_of(line: Line) -> str | None:
    return text(line.get("sessionId")) or text(line.get("session_id"))


def _in_order(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in the order of their times, each after the line that it answers."""
    times = [moment(line.get("timestamp")) for line in lines]
    known = [at for at in times if at is not None]
    falling = sum(later < earlier for earlier, later in pairwise(known))
    rising = sum(later > earlier for earlier, later in pairwise(known))
    places = list(range(len(lines)))
    if falling > rising:
        places.reverse()  # written backwards: then equal times are backwards too
    last = 0
    at_least: dict[int, int] = {}
    for place in places:
        at = times[place]
        last = at if at is not None else last
        at_least[place] = last
    ordered = sorted(places, key=lambda place: at_least[place])
    by_uuid = {uuid: place for place in ordered if (uuid := text(lines[place].get("uuid"))) is not None}
    found: list[int] = []
    done: set[int] = set()
    for place in ordered:
        above: list[int] = []
        at_place: int | None = place
        while at_place is not None and at_place not in done and at_place not in above:
            above.append(at_place)
            at_place = by_uuid.get(text(lines[at_place].get("parentUuid")) or "")
        found += reversed(above)
        done.update(above)
    return [lines[place] for place in found]


def _split(session_id: str | None, lines: Sequence[Line]) -> Threads:
    """Tell the agents of a session apart: by agent id, else by the chain of answers that a line belongs to."""
    found = Threads(session_id=session_id)
    others: dict[str, Thread] = {}
    chain_of: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.get("isSidechain") is not True:
            found.main.lines.append(line)
            continue
        uuid, parent = text(line.get("uuid")) or f"line {number}", text(line.get("parentUuid"))
        chain = text(line.get("agentId")) or (chain_of.get(parent) if parent else None) or uuid
        chain_of[uuid] = chain
        others.setdefault(chain, Thread(agent_id=chain)).lines.append(line)
    found.others = list(others.values())
    return found


def without_clears(thread: Thread) -> Iterator[Thread]:
    """Yield the conversations of a thread: ``/clear`` ends one, unless nothing was said before it."""
    part = replace(thread, lines=[])
    for line in thread.lines:
        part.lines.append(line)
        if clears(line) and any(each.get("type") == "assistant" for each in part.lines):
            yield part
            part = replace(thread, lines=[])
    if part.lines:
        yield part
