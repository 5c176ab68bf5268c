"""OpenClaw's telemetry: JSON lines of events with a sequence number, of several agents at once.

What an agent said stands in the messages of its ``agent.end``, which repeats those of earlier runs; tools stand there
and in events of their own. Lines that came twice count once, gaps in the numbers are normal.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._fields import fingerprint, ident, loosely, moment, obj, objects, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Skipped
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._pi_messages import Entry, Item, PiMessages, entry_of
from spanproof_collector.importers._session import Call, Inference, Run, Said, Session, Turn
from spanproof_collector.model.readings import ABSENT, Absent
from spanproof_collector.model.values import Json

_SUBAGENT: Final = ":subagent:"
_EVENTS: Final = ("agent.", "tool.", "message.", "llm.", "session.")


@dataclass(frozen=True)
class OpenClaw:
    """Telemetry of OpenClaw."""

    name: str = "openclaw"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the sessions of the file, or ``None`` where OpenClaw wrote no line of it.

        Raises:
            OSError: the file cannot be read.
        """
        return _sessions(file) if any(map(_is_event, file.opening)) else None


def _is_event(line: Item) -> bool:
    kind = line.get("type")
    return isinstance(kind, str) and kind.startswith(_EVENTS) and "seq" in line and "ts" in line


def _sessions(file: ReadableFile) -> Iterator[Found]:
    events: dict[str, Item] = {}
    cut = False
    for number, value in file.json_lines():
        cut = isinstance(value, Damage)
        if isinstance(value, Damage):
            yield value
        elif isinstance(value, dict):
            # a restarted process counts from the beginning again: number and time together tell a line
            events.setdefault(fingerprint(value.get("seq", number), value.get("ts"), value.get("type")), value)
    if file.damage is not None:
        yield Damage(reason=file.damage)
    ordered = sorted(events.values(), key=lambda event: (whole(event.get("ts")) or 0, whole(event.get("seq")) or 0))
    by_key: dict[str, list[Item]] = defaultdict(list)
    heard: list[Item] = []
    for event in ordered:
        key = text(event.get("sessionKey"))
        if key is not None:
            by_key[key].append(event)
        elif event.get("type") == "message.in":
            heard.append(event)
        elif event.get("type") != "message.out":
            yield Skipped(what=str(event.get("type")))
    mains: dict[str, list[str]] = {}
    for key in by_key:
        mains.setdefault(_main_of(key), []).append(key)
    for number, (main, keys) in enumerate(mains.items()):
        inner = [_run(key, by_key[key]) for key in keys if key != main]
        yield _session(main, by_key.get(main, []), inner, heard if number == 0 else [], cut=cut)


def _main_of(key: str) -> str:
    """Return the key of the agent for which a sub-agent works; any other key as it is."""
    return f"{key.partition(_SUBAGENT)[0]}:main" if _SUBAGENT in key else key


def _session(key: str, own: Sequence[Item], runs: Sequence[Run], heard: Sequence[Item], *, cut: bool) -> Session:
    turns, rest = _with_runs(_turns(own), runs)
    known = [turn.text for turn in turns if isinstance(turn, Said)]
    asked = [
        Said(role="user", text=words, at=moment(event.get("ts")))
        for event in heard
        if (words := text(event.get("content"))) and not any(words in said for said in known)
    ]
    every: list[Turn] = [*asked, *turns, *rest]
    first = min((at for turn in every if (at := _at(turn)) is not None), default=None)
    return Session(
        identity=(key, str(first)),
        session_id=None,
        agent_name="openclaw",
        turns=tuple(sorted(every, key=lambda turn: _at(turn) or 0)),
        cut=cut,
    )


def _with_runs(turns: Sequence[Turn], runs: Sequence[Run]) -> tuple[list[Turn], list[Run]]:
    """Return the turns, each call with the run that it started, and the runs that no call started."""
    waiting = {run.key: run for run in runs}

    def started(call: Call) -> Call:
        answer = loosely(call.result) if not isinstance(call.result, Absent) else None
        run = waiting.pop(text(obj(answer).get("childSessionKey")), None)
        return call if run is None else replace(call, runs=(run,))

    found = [
        replace(turn, calls=tuple(started(call) for call in turn.calls)) if isinstance(turn, Inference) else turn
        for turn in turns
    ]
    return found, list(waiting.values())


def _at(turn: Turn) -> int | None:
    return turn.at


def _run(key: str, events: Sequence[Item]) -> Run:
    asked = next((text(event.get("prompt")) for event in events if event.get("type") == "agent.start"), None)
    turns = _turns(events)
    if asked and not any(isinstance(turn, Said) and asked in turn.text for turn in turns):
        turns.insert(0, Said(role="user", text=asked, at=moment(events[0].get("ts"))))
    failed = next((e for e in reversed(events) if e.get("type") == "agent.end" and e.get("success") is False), {})
    return Run(
        agent=text(events[0].get("agentId")),
        turns=tuple(turns),
        error=text(failed.get("error")) or ("error" if failed else None),
        at=moment(events[0].get("ts")),
        ended_at=moment(events[-1].get("ts")),
        key=key,
    )


def _turns(events: Sequence[Item]) -> list[Turn]:
    """Return the turns that the messages tell, and the calls that only events tell."""
    seen: set[str] = set()
    entries: list[Entry] = []
    for event in events:
        if event.get("type") != "agent.end":
            continue
        for message in objects(event.get("messages")):
            mark = fingerprint(message)
            if mark not in seen:
                seen.add(mark)
                entries.append(entry_of(message))
    reading = PiMessages()
    reading.read(entries)
    turns = reading.turns
    told = [call for turn in turns if isinstance(turn, Inference) for call in turn.calls]
    for call in _called(events):
        same = next((each for each in told if (each.name, each.arguments) == (call.name, call.arguments)), None)
        if same is None:
            turns.append(call)
        else:
            told.remove(same)
    return sorted(turns, key=lambda turn: _at(turn) or 0)


def _called(events: Sequence[Item]) -> Iterator[Call]:
    """Yield the calls that events tell: a start, and the end that follows it."""
    started: list[Call] = []
    for event in events:
        name, at = text(event.get("toolName")) or "", moment(event.get("ts"))
        match event.get("type"):
            case "tool.start":
                call_id = ident(event.get("toolCallId"))
                started.append(Call(name=name, call_id=call_id, arguments=event.get("params", ABSENT), at=at))
            case "tool.end":
                call = next((each for each in started if each.name == name), None)
                if call is None:
                    call = Call(name=name, call_id=ident(event.get("toolCallId")), at=at)
                else:
                    started.remove(call)
                yield _ended(call, event, at)
            case _:
                pass
    yield from started


def _ended(call: Call, event: Item, at: int | None) -> Call:
    call = replace(call, answered_at=at)
    if event.get("success") is False or event.get("error"):
        return replace(call, error=_words(event.get("error")) or "error")
    result = event.get("result")
    return replace(call, succeeded=True) if result is None else replace(call, result=result)


def _words(value: Json) -> str | None:
    return text(value) or text(obj(value).get("message"))
