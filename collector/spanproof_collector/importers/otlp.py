"""Files of OTLP requests: protobuf, JSON, JSON lines, and gzip of each; traces and logs, metrics recognized.

Large files are read in pieces: protobuf and a single JSON document group by group, JSON lines line by line.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from spanproof_collector.errors import DecodeError
from spanproof_collector.importers._documents import documents
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._older_otlp import MARKS, modern
from spanproof_collector.model.values import Json
from spanproof_collector.otlp import Form, decode_logs, decode_traces, signal_in
from spanproof_collector.otlp.json_items import whole_part as whole_json
from spanproof_collector.otlp.wire import fields, groups, whole_part

_BOM: Final = b"\xef\xbb\xbf"
_NAMES: Final = (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')
_MEMBERS: Final = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")
_GROUP: Final = b"\x0a"
"""The tag with which every request begins in protobuf: field 1, bytes."""

_PIECE: Final = 8 * 1024**2
"""How much protobuf is read as one request."""

_LARGE: Final = 64 * 1024**2
"""A JSON document from this size on is read group by group."""

_ARRAY: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"resource(?:Spans|Logs|Metrics|_spans|_logs|_metrics)"')

_TRACE_ID: Final = re.compile(rb'"trace_?[iI]d"\s*:\s*"([0-9a-fA-F]{32})"')


@dataclass(frozen=True)
class Otlp:
    """OpenTelemetry's own files, as collectors, exporters and recorders write them."""

    name: str = "otlp"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return what the file holds, or ``None`` where it is no OTLP.

        Raises:
            OSError: the file cannot be read.
        """
        head = file.head
        if head.startswith(_GROUP):
            first, _ = whole_part(file.start(_PIECE))
            if signal_in(first, "protobuf") is not None:
                return _with_damage(_protobuf(file), file)
        if head.removeprefix(_BOM).lstrip().startswith(b"{") and any(name in head for name in (*_NAMES, *MARKS)):
            return _with_damage(_json(file), file)
        if _ARRAY.match(head) is not None:
            return _with_damage(_array(file), file)
        return None


def _with_damage(found: Iterator[Found], file: ReadableFile) -> Iterator[Found]:
    yield from found
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _pieces(file: ReadableFile) -> Iterator[tuple[bytes, bool]]:
    """Yield requests of whole groups, and whether one is the last: it may be cut off."""
    held = b""
    chunks = file.chunks()
    more = True
    while more:
        parts, size = [held], len(held)
        wanted = size + _PIECE
        while size < wanted and (chunk := next(chunks, b"")):
            parts.append(chunk)
            size += len(chunk)
        more = size >= wanted
        held = b"".join(parts)
        ends = [field.end for field in fields(held, 0, len(held)) if field.end <= len(held)] if more else []
        if more and ends:
            yield held[: ends[-1]], False
            held = held[ends[-1] :]
    yield held, True


def _protobuf(file: ReadableFile) -> Iterator[Found]:
    for piece, last in _pieces(file):
        whole, cut = whole_part(piece) if last else (piece, False)
        if whole:
            yield from _requests(whole)
        if cut:
            yield Damage(reason="the protobuf is cut off, or damaged at its end")


def _requests(whole: bytes) -> Iterator[Found]:
    try:
        yield _request(whole, "protobuf")
    except DecodeError:
        for group in groups(whole):
            try:
                yield _request(group, "protobuf")
            except DecodeError as error:
                yield Damage(reason=str(error))


def _json(file: ReadableFile) -> Iterator[Found]:
    if _has_lines(file):
        yield from _json_lines(file)
        return
    if file.larger_than(_LARGE):
        yield from _by_groups(file)
        return
    body = file.everything().removeprefix(_BOM)
    try:
        yield _request(body, "json")
    except DecodeError as error:
        if any(_is_request(line) for line in body.splitlines()):
            yield from _json_lines(file)
        else:
            yield from _damaged_json(body, error, None)


def _has_lines(file: ReadableFile) -> bool:
    """True where the first line is a whole request; a document may be one line too, if it is not too long."""
    first = file.first_line(_LARGE)
    return first is not None and _is_request(first)


def _json_lines(file: ReadableFile) -> Iterator[Found]:
    for number, line in enumerate(file.lines(), 1):
        text = line.removeprefix(_BOM).strip()
        if not text:
            continue
        try:
            yield _request(text, "json")
        except DecodeError as error:
            yield from _damaged_json(text, error, number)


def _array(file: ReadableFile) -> Iterator[Found]:
    for read in documents(file):
        if isinstance(read, Damage):
            yield read
            continue
        body = _spelled(read.value)
        try:
            yield _request(body, "json")
        except DecodeError as error:
            yield from _damaged_json(body, error, read.line)


def _by_groups(file: ReadableFile) -> Iterator[Found]:
    for read in documents(file, _MEMBERS):
        if isinstance(read, Damage):
            yield read
        elif isinstance(read.value, dict) and read.member is not None:
            body = _spelled({read.member: [read.value]})
            try:
                yield _request(body, "json")
            except DecodeError as error:
                yield from _damaged_json(body, error, read.line)


def _spelled(value: Json) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # half a character; a number past 64 bits
        return json.dumps(value).encode()


def _damaged_json(body: bytes, error: DecodeError, line: int | None) -> Iterator[Found]:
    whole = whole_json(body)
    if whole is not None:
        # Where this fails too, it is not merely cut off, and the first error says more.
        with contextlib.suppress(DecodeError):
            yield _request(whole, "json")
    told = frozenset(found.decode().lower() for found in _TRACE_ID.findall(body))
    yield Damage(reason=str(error), line=line, trace_ids=told)


def _is_request(line: bytes) -> bool:
    return signal_in(modern(line.removeprefix(_BOM).strip()), "json") is not None


def _request(body: bytes, form: Form) -> Found:
    """Return the request that the bytes hold.

    Raises:
        DecodeError: they hold none, or a damaged one.
    """
    if form == "json":
        body = modern(body)
    match signal_in(body, form):
        case "traces":
            traces = decode_traces(body, form)
            return Recorded(request=traces.request, data=body, refused=traces.refused)
        case "logs":
            logs = decode_logs(body, form)
            return Recorded(request=logs.request, data=body, refused=logs.refused)
        case "metrics":
            return Skipped(what="metrics")
        case None:
            if form == "json":
                decode_traces(body, form)  # says what is wrong with it
            raise DecodeError("no OTLP request: neither spans, log records nor metrics")
