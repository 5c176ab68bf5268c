"""Gemini CLI's chat files: one JSON document, or JSON lines of a header, messages and their updates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.importers._content import content, media
from spanproof_collector.importers._documents import documents
from spanproof_collector.importers._fields import fingerprint, ident, moment, obj, objects, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Inference, Labels, Refused, Said, Session, Turn
from spanproof_collector.model.readings import ABSENT, Absent, Recorded, Usage
from spanproof_collector.model.values import Json

Item = dict[str, Json]

_TYPES: Final = frozenset({"user", "gemini", "info", "error", "warning"})


@dataclass(frozen=True)
class GeminiCli:
    """Chats of Gemini CLI."""

    name: str = "gemini_cli"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the session of the file, or ``None`` where it is no chat of Gemini CLI's.

        Raises:
            OSError: the file cannot be read.
        """
        seen = outline(file.path)
        within = seen.within("messages")
        if seen.first.get("sessionId") and (within.get("type") in _TYPES or "projectHash" in seen.first):
            return _of_document(file) if "messages" in seen.first else _of_lines(file)
        return None


def _of_document(file: ReadableFile) -> Iterator[Found]:
    document = obj(file.document)
    if "messages" in document:
        yield _session(document, objects(document["messages"]), cut=False)
        return
    header: Item = {}
    messages: list[Item] = []
    cut = False
    for read in documents(file, ("messages",)):  # cut off, or too large to be read at once
        if isinstance(read, Damage):
            cut = True
            yield read
        elif read.member is not None and isinstance(read.value, dict):
            messages.append(read.value)
            header = read.outer
    if messages:
        yield _session(header, messages, cut=cut)


def _of_lines(file: ReadableFile) -> Iterator[Found]:
    header: Item = {}
    messages: dict[str, Item] = {}
    cut = False
    for number, value in file.json_lines():
        cut = isinstance(value, Damage)
        if isinstance(value, Damage):
            yield value
            continue
        line = obj(value)
        if line.get("type") in _TYPES:
            messages[ident(line.get("id")) or f"line {number}"] = line
        elif "$rewindTo" not in line:  # what was rewound was done all the same
            header |= obj(line.get("$set")) or line
    yield _session(header, list(messages.values()), cut=cut)
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _session(header: Mapping[str, Json], messages: Sequence[Item], *, cut: bool) -> Session:
    session_id = ident(header.get("sessionId"))
    turns = [turn for message in messages if (turn := _turn(message)) is not None]
    last = turns[-1] if turns else None
    stopped = isinstance(last, Said) and last.text.startswith("Request cancelled")
    return Session(
        identity=(session_id or fingerprint(list(messages)),),
        session_id=session_id,
        agent_name="gemini-cli",
        agent_version=text(header.get("version")),
        labels=Labels(facts={"project_hash": text(header.get("projectHash")), "title": text(header.get("summary"))}),
        turns=tuple(turns),
        termination="cancelled" if stopped else None,
        cut=cut,
        started_at=moment(header.get("startTime")),
    )


def _turn(message: Item) -> Turn | None:
    at, key = moment(message.get("timestamp")), ident(message.get("id"))
    said = content(_words(message.get("content")))
    match message.get("type"):
        case "user":
            return Said(role="user", text=said.text, parts=said.parts, at=at, key=key)
        case "gemini":
            thoughts = [
                ": ".join(word for name in ("subject", "description") if (word := text(thought.get(name))))
                for thought in objects(message.get("thoughts"))
            ]
            calls = objects(message.get("toolCalls"))
            return Inference(
                text=said.text or None,
                reasoning="\n".join(thoughts) or None,
                parts=said.parts,
                calls=tuple(_call(item, f"{key or ''}#{number}") for number, item in enumerate(calls)),
                model=text(message.get("model")),
                usage=_usage(obj(message.get("tokens"))),
                at=at,
                key=key,
            )
        case "error":
            return Inference(error=said.text or "error", at=at, key=key)
        case _:
            return Said(role="environment", text=said.text, parts=said.parts, at=at, key=key) if said.text else None


def _words(value: Json) -> Json:
    """Return content in the shape of other providers: Gemini's parts have no type."""
    if not isinstance(value, list):
        return value
    found: list[Json] = []
    for item in value:
        part = obj(item)
        inline = obj(part.get("inlineData"))
        found.append(media("blob", inline.get("data")) if inline else item)
    return found


def _call(item: Item, made_up: str) -> Call:
    """Read a call. Where it has no id, its message and place make one."""
    status = text(item.get("status"))
    result = _result(item)
    call = Call(
        name=text(item.get("name")) or "",
        call_id=ident(item.get("id")) or made_up,
        arguments=item.get("args", ABSENT),
        at=moment(item.get("timestamp")),
    )
    words = _said(item, result)
    match status:
        case "cancelled":
            refused = Refused(by="user", reason=words or "cancelled")
            return Call(name=call.name, call_id=call.call_id, arguments=call.arguments, refused=refused, at=call.at)
        case "error":
            error = words or "error"
            return Call(name=call.name, call_id=call.call_id, arguments=call.arguments, error=error, at=call.at)
        case _:
            return Call(
                name=call.name,
                call_id=call.call_id,
                arguments=call.arguments,
                result=result,
                succeeded=status == "success" and isinstance(result, Absent),
                at=call.at,
            )


def _result(item: Item) -> Recorded:
    """Return what the model was told: the output alone where the function's response holds nothing else."""
    responses = [obj(obj(part.get("functionResponse")).get("response")) for part in objects(item.get("result"))]
    told = [response for response in responses if response]
    if len(told) == 1:
        return told[0]["output"] if told[0].keys() == {"output"} else told[0]
    result = item.get("result")
    return ABSENT if result is None or result == [] else list(told) if told else result


def _said(item: Item, result: Recorded) -> str:
    told = result if isinstance(result, dict) else {}
    for value in (told.get("error"), result, item.get("resultDisplay")):
        if isinstance(value, str) and value:
            return value
    return ""


def _usage(tokens: Item) -> Usage:
    """Gemini counts thoughts beside the output, and what tools put into the prompt beside the input."""
    given, tool = whole(tokens.get("input")), whole(tokens.get("tool"))
    answered, thoughts = whole(tokens.get("output")), whole(tokens.get("thoughts"))
    return Usage(
        input_tokens=None if given is None else given + (tool or 0),
        output_tokens=None if answered is None else answered + (thoughts or 0),
        cache_read_tokens=whole(tokens.get("cached")),
        reasoning_tokens=thoughts,
    )
