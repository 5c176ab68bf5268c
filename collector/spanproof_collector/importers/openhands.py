"""OpenHands event streams: actions and the observations that they cause, by agent, user and environment."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spanproof_collector.importers._documents import Document, documents, sessions
from spanproof_collector.importers._fields import (
    dollars,
    fingerprint,
    ident,
    listed,
    obj,
    objects,
    text,
    truth,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._openhands_events import Event, EventReader, ended_by
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import (
    Labels,
    Session,
    Verdict,
)
from spanproof_collector.model.values import Json


@dataclass(frozen=True)
class OpenHands:
    """Event streams as arrays or lines, and outputs of its evaluation harness with a stream each."""

    name: str = "openhands"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the streams of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        values = [obj(value) for value in found.values]
        if values and all(_is_event(value) for value in values):
            return _stream(file)
        first = found.first
        history = first.get("history")
        opening = listed(history)[:1]
        within = obj((listed(opening[0]) or opening)[0]) if opening else {}
        marked = "instance_id" in first and ("metadata" in first or "test_result" in first)
        return (
            sessions(file, _outputs)
            if isinstance(history, list) and marked and (_is_event(within) or not opening)
            else None
        )


def _is_event(value: Event) -> bool:
    """Condensation and system events have no ``message`` in some versions; every event has a source and its kind."""
    kind = value.get("action", value.get("observation"))
    return isinstance(kind, str) and ("source" in value or "cause" in value) and ("args" in value or "extras" in value)


def _stream(file: ReadableFile) -> Iterator[Session | Damage]:
    events: list[Event] = []
    for read in documents(file):
        if isinstance(read, Damage):
            yield read
        elif isinstance(read.value, dict):
            events.append(read.value)
        else:
            yield Damage(reason="no event: not an object", line=read.line)
    if file.damage is not None:
        yield Damage(reason=file.damage)
    yield _session(events, (fingerprint(list(events)),))


def _outputs(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not isinstance(record.get("history"), list):
        yield Damage(reason="no output of OpenHands: history is missing", line=document.line)
        return
    events = [event for entry in listed(record["history"]) for event in (objects(entry) or [obj(entry)]) if event]
    metadata, metrics = obj(record.get("metadata")), obj(record.get("metrics"))
    config = obj(metadata.get("llm_config"))
    resolved = obj(obj(record.get("test_result")).get("report")).get("resolved", record.get("resolved"))
    told = _session(events, (fingerprint(record),))
    facts: dict[str, str | int | float | bool | None] = {
        "dataset": text(metadata.get("dataset")),
        "error": text(record.get("error")),
    }
    failed = text(record.get("error"))
    yield replace(
        told,
        agent_name=text(metadata.get("agent_class")),
        model=text(config.get("model")),
        labels=Labels(task_id=ident(record.get("instance_id")), suite=text(metadata.get("dataset")), facts=facts),
        termination=ended_by(failed) if failed else told.termination,
        cost=told.cost if told.cost is not None else dollars(metrics.get("accumulated_cost")),
        verdicts=_resolved(resolved),
    )


def _resolved(value: Json) -> tuple[Verdict, ...]:
    known = truth(value)
    return () if known is None else (Verdict(name="resolved", score=float(known), label=str(known).lower()),)


def _session(events: list[Event], identity: tuple[str, ...]) -> Session:
    reader = EventReader()
    for event in events:
        reader.take(event)
    turns = reader.finish()
    return Session(identity=identity, turns=turns, termination=reader.termination)
