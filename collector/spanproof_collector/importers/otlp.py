"""Files of OTLP requests: protobuf, JSON, JSON lines, and gzip of each; traces and logs, metrics recognized."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanproof_collector.errors import DecodeError
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Found
from spanproof_collector.otlp import Form, decode_logs, decode_traces, signal_in
from spanproof_collector.otlp.json_items import whole_part as whole_json
from spanproof_collector.otlp.wire import groups, whole_part

_BOM: Final = b"\xef\xbb\xbf"
_NAMES: Final = (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')
_GROUP: Final = b"\x0a"
"""The tag with which every request begins in protobuf: field 1, bytes."""


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
            whole, cut = whole_part(file.everything())
            if signal_in(whole, "protobuf") is not None:
                return _with_damage(_protobuf(whole, cut=cut), file)
        if head.removeprefix(_BOM).lstrip().startswith(b"{") and any(name in head for name in _NAMES):
            return _with_damage(_json(file), file)
        return None


def _with_damage(found: Iterator[Found], file: ReadableFile) -> Iterator[Found]:
    yield from found
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _protobuf(whole: bytes, *, cut: bool) -> Iterator[Found]:
    try:
        yield _request(whole, "protobuf")
    except DecodeError:
        for group in groups(whole):
            try:
                yield _request(group, "protobuf")
            except DecodeError as error:
                yield Damage(reason=str(error))
    if cut:
        yield Damage(reason="the protobuf is cut off, or damaged at its end")


def _json(file: ReadableFile) -> Iterator[Found]:
    first = next((line for line in file.lines() if line.strip()), b"")
    if _is_request(first):
        yield from _json_lines(file)
        return
    body = file.everything().removeprefix(_BOM)
    try:
        yield _request(body, "json")
    except DecodeError as error:
        if any(_is_request(line) for line in body.splitlines()):
            yield from _json_lines(file)
        else:
            yield from _damaged_json(body, error, None)


def _json_lines(file: ReadableFile) -> Iterator[Found]:
    for number, line in enumerate(file.lines(), 1):
        text = line.removeprefix(_BOM).strip()
        if not text:
            continue
        try:
            yield _request(text, "json")
        except DecodeError as error:
            yield from _damaged_json(text, error, number)


def _damaged_json(body: bytes, error: DecodeError, line: int | None) -> Iterator[Found]:
    whole = whole_json(body)
    if whole is not None:
        # Where this fails too, it is not merely cut off, and the first error says more.
        with contextlib.suppress(DecodeError):
            yield _request(whole, "json")
    yield Damage(reason=str(error), line=line)


def _is_request(line: bytes) -> bool:
    return signal_in(line.removeprefix(_BOM).strip(), "json") is not None


def _request(body: bytes, form: Form) -> Found:
    """Return the request that the bytes hold.

    Raises:
        DecodeError: they hold none, or a damaged one.
    """
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
