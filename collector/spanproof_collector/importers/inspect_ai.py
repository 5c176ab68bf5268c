"""Inspect: evaluation logs as JSON and as archives, and the event streams of samples."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanproof_collector.importers._chat import Message, turns_of
from spanproof_collector.importers._documents import Document, documents, sessions
from spanproof_collector.importers._fields import (
    fingerprint,
    ident,
    listed,
    moment,
    number,
    obj,
    objects,
    text,
    truth,
    whole,
)
from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._inspect_events import Event, Resolve, read, usage_of
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Inference, Labels, Session, Termination, Turn, Verdict
from spanproof_collector.importers._zip import content as content_of
from spanproof_collector.importers._zip import members, names
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.values import Json

_SAMPLES: Final = "samples"
_HEADERS: Final = ("header.json", "_journal/start.json")
_MEMBER: Final = "samples/"
_ATTACHED: Final = ("attachment://", "tc://")
_KINDS: Final = frozenset(
    {"sample_init", "span_begin", "span_end", "model", "tool", "step", "state", "store", "info", "score", "input"}
    | {"approval", "compaction", "branch", "anchor", "sandbox", "error", "logger", "subtask", "sample_limit"}
)


@dataclass(frozen=True)
class InspectAi:
    """Logs with all their samples, one sample, or events alone: an object, an array, or one a line."""

    name: str = "inspect"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the samples of the file, or ``None`` where it is no log.

        Raises:
            OSError: the file cannot be read.
        """
        inside = names(file.path)
        if any(name in _HEADERS or name.startswith(_MEMBER) for name in inside):
            return _archive(file)
        found = outline(file.path)
        first = found.first
        if _is_log(first):
            return sessions(file, _of_log, (_SAMPLES,))
        if _is_sample(first) or _is_event(found.within("events")):
            return sessions(file, lambda document: _of_sample(document.value, {}, "", document.line))
        values = [obj(value) for value in found.values]
        return _stream(file) if values and all(_is_event(value) for value in values) else None


def _is_log(record: Event) -> bool:
    told = obj(record.get("eval"))
    return "task" in told and ("model" in told or "run_id" in told) and ("status" in record or "version" in record)


def _is_sample(record: Event) -> bool:
    return record.keys() >= {"id", "epoch", "input", "messages"}


def _is_event(record: Event) -> bool:
    return text(record.get("event")) in _KINDS and not record.keys().isdisjoint({"timestamp", "uuid", "span_id"})


# --- containers ---


def _of_log(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if document.outer:
        yield from _of_sample(record, obj(document.outer.get("eval")), _status(document.outer), document.line)
    # a log without samples tells of no session: its run had not come to any, or keeps them elsewhere


def _status(header: Event) -> str:
    return text(header.get("status")) or ""


def _archive(file: ReadableFile) -> Iterator[Session | Damage]:
    with file.path.open("rb") as archive:
        found, damage = members(archive)
        if damage is not None:
            yield damage
        header: Event = {}
        by_name = {member.name: member for member in found}
        for name in _HEADERS:
            if name in by_name and not header:
                value = _parsed(content_of(archive, by_name[name]), name)
                if isinstance(value, Damage):
                    yield value
                header = obj(value) if not isinstance(value, Damage) else {}
        for member in found:
            if not member.name.startswith(_MEMBER) or not member.name.endswith(".json"):
                continue
            value = _parsed(content_of(archive, member), member.name)
            if isinstance(value, Damage):
                yield value
            else:
                yield from _of_sample(value, obj(header.get("eval")), _status(header), None)


def _parsed(data: bytes | Damage, name: str) -> "Json | Damage":
    if isinstance(data, Damage):
        return data
    try:
        return parse(data)
    except NotJsonError as error:
        return Damage(reason=f"{name}: {error}")


def _stream(file: ReadableFile) -> Iterator[Session | Damage]:
    events: list[Json] = []
    for found in documents(file):
        if isinstance(found, Damage):
            yield found
        elif isinstance(found.value, dict):
            events.append(found.value)
        else:
            yield Damage(reason="no event: not an object", line=found.line)
    if file.damage is not None:
        yield Damage(reason=file.damage)
    yield from _of_sample({"events": events}, {}, "", 1)


# --- samples ---


def _of_sample(value: Json, told: Event, status: str, line: int | None) -> Iterator[Session | Damage]:
    sample = obj(value)
    if not _is_sample(sample) and not isinstance(sample.get("events"), list):
        yield Damage(reason="no sample of Inspect: id, epoch, input, messages or events are missing", line=line)
        return
    older = obj(sample.get("transcript"))
    resolve = _resolver(obj(sample.get("attachments")) | obj(older.get("content")))
    pool = listed(obj(sample.get("events_data")).get("messages"))
    found = read(objects(sample.get("events")) or objects(older.get("events")), resolve, pool)
    turns = found.turns
    if not any(isinstance(turn, Inference) for turn in _all(turns)):
        turns = tuple(turns_of(_messages(sample, resolve)))
    metered = any(turn.usage != Usage() for turn in _all(turns) if isinstance(turn, Inference))
    epoch = whole(sample.get("epoch"))
    config = obj(told.get("config"))
    facts: dict[str, str | int | float | bool | None] = {
        "eval_id": text(told.get("eval_id")),
        "run_id": text(told.get("run_id")),
        "dataset": text(obj(told.get("dataset")).get("name")),
        "solver": text(told.get("solver")),
        "epochs": whole(config.get("epochs")),
        "limit": text(obj(sample.get("limit")).get("type")) or found.limit,
        "error": text(obj(sample.get("error")).get("message")),
    }
    scores = obj(sample.get("scores")) or {str(place): each.get("score") for place, each in enumerate(found.scores)}
    yield Session(
        identity=_identity(sample, told),
        session_id=ident(sample.get("uuid")),
        agent_name=found.agent,
        model=text(told.get("model")),
        labels=Labels(
            task_id=ident(sample.get("id")),
            attempt=epoch - 1 if epoch else None,
            suite=text(told.get("task")),
            facts=facts,
        ),
        turns=turns,
        termination=_termination(sample, facts["limit"], status),
        cut=found.unfinished or status == "started",
        verdicts=tuple(_verdict(name, score) for name, score in scores.items()),
        usage=None if metered else _total(obj(sample.get("model_usage"))),
        started_at=moment(sample.get("started_at")),
        ended_at=moment(sample.get("completed_at")),
    )


def _all(turns: tuple[Turn, ...]) -> Iterator[Turn]:
    for turn in turns:
        yield turn
        for inner in getattr(turn, "calls", ()):
            for run in inner.runs:
                yield from _all(run.turns)
        yield from _all(getattr(turn, "turns", ()))


def _identity(sample: Event, told: Event) -> tuple[str, ...]:
    evaluation = ident(told.get("eval_id")) or "/".join(
        part for part in (ident(told.get("run_id")), ident(told.get("task_id"))) if part
    )
    named = ident(sample.get("id"))
    if evaluation and named is not None:
        return (evaluation, named, str(sample.get("epoch")))
    return (ident(sample.get("uuid")) or fingerprint(sample),)


def _resolver(attached: Event) -> Resolve:
    """Return what puts attachments in the place of their references."""

    def resolve(value: Json) -> Json:
        match value:
            case str() if value.startswith(_ATTACHED):
                return attached.get(value.partition("://")[2], value)
            case list():
                return [resolve(item) for item in value]
            case dict():
                return {key: resolve(item) for key, item in value.items()}
            case _:
                return value

    return resolve if attached else lambda value: value


def _messages(sample: Event, resolve: Resolve) -> list[Message]:
    """A sample without events tells its conversation; errors of tools stand beside their answers."""
    return [obj(resolve(message)) for message in objects(sample.get("messages"))]


def _termination(sample: Event, limit: Json, status: str) -> Termination | None:
    if obj(sample.get("error")):
        return "infrastructure"
    if limit == "operator":
        return "cancelled"
    if limit is not None:
        return "budget_exhausted"
    done = status in ("success", "error", "cancelled") and bool(sample.get("output"))
    return "completed" if done else None


def _verdict(name: str, score: Json) -> Verdict:
    told = obj(score)
    value = told.get("value", score if not told else None)
    known = truth(value) if isinstance(value, bool) else None
    spelled = value if isinstance(value, str) else None if number(value) is not None else str(value)
    return Verdict(
        name=text(told.get("name")) or name,
        score=float(known) if known is not None else number(value),
        label=spelled,
        explanation=text(told.get("explanation")),
    )


def _total(by_model: Event) -> Usage | None:
    used = [usage_of(obj(each)) for each in by_model.values()]
    if not used:
        return None

    def total(name: str) -> int | None:
        known = [count for each in used if (count := getattr(each, name)) is not None]
        return sum(known) if known else None

    return Usage(**{name: total(name) for name in Usage.__struct_fields__})
