import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from spanproof_collector.errors import CollectorError
from spanproof_collector.importers import NoSuchFileError, Rejection, UnknownFormatError, import_paths
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.factories import agent, chat, log_record, logs, said, span, trace_id, traces
from tests.shared import CAPTURES, needs_captures

REQUEST = traces(span("a", {"k": "v"}), span("b"), span("c"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder beside the store's."""
    made = tmp_path / "recorded"
    made.mkdir()
    return made


def spelled(request: Message, indent: int | None = None) -> bytes:
    """Return OTLP/JSON, whose ids are hex where protobuf's own JSON has base64."""
    found = MessageToDict(request)
    for group in found["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for number, each in enumerate(scope["spans"]):
                assert isinstance(request, ExportTraceServiceRequest)
                sent = request.resource_spans[0].scope_spans[0].spans[number]
                each |= {"traceId": sent.trace_id.hex(), "spanId": sent.span_id.hex(), "kind": 1}
                each |= {"parentSpanId": sent.parent_span_id.hex()} if sent.parent_span_id else {}
    return json.dumps(found, indent=indent).encode()


def lines(*requests: ExportTraceServiceRequest) -> bytes:
    return b"\n".join(spelled(request) for request in requests) + b"\n"


def names(store: Store) -> list[str]:
    records = store.read_traces([("default", trace_id("a").hex())])
    return sorted(each.name for found in records.values() for each in found.spans)


def metrics() -> bytes:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="calls")
    metric.sum.data_points.add(as_int=1)
    return request.SerializeToString()


FORMS = {
    "protobuf": REQUEST.SerializeToString(),
    "JSON": spelled(REQUEST),
    "pretty JSON": spelled(REQUEST, indent=1),
    "JSON with a byte order mark": b"\xef\xbb\xbf" + spelled(REQUEST),
    "JSON lines": lines(traces(span("a", {"k": "v"})), traces(span("b"), span("c"))),
    "JSON lines with blanks": lines(traces(span("a"))) + b"\n\r\n" + lines(traces(span("b"), span("c"))),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_told_by_its_content(store: Store, folder: Path, form: str, packed: bool) -> None:
    file = folder / "anything"
    file.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    found = import_paths(store, [file])
    assert (found.files, found.spans, found.log_records, found.rejected) == (1, 3, 0, ())
    assert found.formats == {"otlp": 1}
    assert found.traces == {("default", trace_id("a").hex())}
    assert names(store) == ["a", "b", "c"]


def test_what_protobuf_spells_by_itself_is_read(store: Store, folder: Path) -> None:
    """Ids in base64 and names of enum values: what ``MessageToJson`` writes."""
    request = traces(span("a", {"traceId": "SPAN_KIND_SERVER", "code": "STATUS_CODE_OK"}), span("b"), span("c"))
    sent = request.resource_spans[0].scope_spans[0].spans
    sent[0].kind, sent[0].status.code = Span.SPAN_KIND_CLIENT, Status.STATUS_CODE_ERROR
    sent[1].links.add(trace_id=trace_id("z"), span_id=sent[0].span_id)
    said = logs(log_record("said"))
    said.resource_logs[0].scope_logs[0].log_records[0].severity_number = SeverityNumber.SEVERITY_NUMBER_WARN
    for number, message in enumerate((request, said)):
        (folder / str(number)).write_text(MessageToJson(message))
        (folder / f"snake {number}").write_text(MessageToJson(message, preserving_proto_field_name=True))
    imported = import_paths(store, [folder])
    assert (imported.spans, imported.log_records, imported.rejected) == (3, 1, ())
    (read,) = (each for each in store.read_traces([("default", trace_id("a").hex())]).values())
    assert sorted((each.span_id, each.parent_span_id) for each in read.spans) == sorted(
        (each.span_id.hex(), each.parent_span_id.hex()) for each in sent
    )
    (first,) = (each for each in read.spans if each.span_id == sent[0].span_id.hex())
    assert (first.status, first.attributes["traceId"]) == ("ERROR", "SPAN_KIND_SERVER")


def test_an_array_of_requests_is_read_and_a_broken_one_named(store: Store, folder: Path) -> None:
    one, other = (spelled(traces(span(name))).decode() for name in "ab")
    (folder / "array").write_text(f'[\n{one},\n{{"resourceSpans": 1}},\n{other}\n]')
    imported = import_paths(store, [folder])
    assert (imported.formats, imported.spans, [each.line for each in imported.rejected]) == ({"otlp": 1}, 2, [3])


def test_a_folder_is_walked_and_a_file_in_two_forms_counts_once(store: Store, folder: Path) -> None:
    inner = folder / "run" / "inner"
    inner.mkdir(parents=True)
    (inner / "1.pb").write_bytes(FORMS["protobuf"])
    (inner / "1.json").write_bytes(FORMS["pretty JSON"])
    (folder / "run" / "2.pb").write_bytes(logs(log_record("said")).SerializeToString())
    (folder / "run" / "3.pb").write_bytes(metrics())
    (folder / "run" / ".hidden").mkdir()
    (folder / "run" / ".hidden" / "4.pb").write_bytes(b"\n")
    (folder / "run" / "notes.txt").write_text("\nnothing of ours")
    found = import_paths(store, [folder / "run"])
    assert (found.files, found.spans, found.log_records, found.rejected) == (4, 3, 1, ())
    assert found.skipped == {"metrics": 1}
    assert names(store) == ["a", "b", "c"]
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert (records.source, records.path) == ("import:otlp", "inner/1.pb")


def test_a_file_that_is_named_keeps_its_path_as_named(store: Store, folder: Path) -> None:
    file = folder / "one.pb"
    file.write_bytes(FORMS["protobuf"])
    import_paths(store, [file])
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert records.path == str(file)


def test_importing_twice_stores_once(store: Store, folder: Path) -> None:
    file = folder / "one.pb"
    file.write_bytes(FORMS["protobuf"])
    assert import_paths(store, [file]) == import_paths(store, [file])
    assert import_paths(store, [file, file]).spans == 3
    assert names(store) == ["a", "b", "c"]


def test_a_broken_line_is_named_and_the_others_are_kept(store: Store, folder: Path) -> None:
    file = folder / "lines.jsonl"
    file.write_bytes(lines(traces(span("a"))) + b'{"resourceSpans": 7}\n' + lines(traces(span("b"))))
    found = import_paths(store, [file])
    assert [(each.path, each.line) for each in found.rejected] == [(str(file), 2)]
    assert names(store) == ["a", "b"]


def test_a_broken_first_line_does_not_hide_the_others(store: Store, folder: Path) -> None:
    (folder / "lines.jsonl").write_bytes(b'{"resourceSpans": [,]}\n' + lines(traces(span("a"))))
    found = import_paths(store, [folder])
    assert [(each.path, each.line) for each in found.rejected] == [("lines.jsonl", 1)]
    assert names(store) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        FORMS["protobuf"][:-4],
        FORMS["JSON"][:-20],
        FORMS["pretty JSON"][:-60],
        lines(traces(span("a")), traces(span("b"), span("c")))[:-30],
        gzip.compress(lines(traces(span("a")), traces(span("b"))), compresslevel=0)[:-40],
    ],
    ids=["protobuf", "JSON", "pretty JSON", "JSON lines", "gzip"],
)
def test_a_file_that_is_cut_off_gives_what_is_whole_and_is_named(store: Store, folder: Path, body: bytes) -> None:
    (folder / "cut.json").write_bytes(body)
    found = import_paths(store, [folder])
    assert found.files == 1
    assert [each.path for each in found.rejected] == ["cut.json"] * len(found.rejected)
    assert found.rejected
    assert "a" in names(store)
    assert "c" not in names(store)


def test_a_span_with_a_broken_id_is_named_and_the_others_are_kept(store: Store, folder: Path) -> None:
    broken = span("broken")
    broken.span_id = b"short"
    (folder / "1.pb").write_bytes(traces(span("a"), broken).SerializeToString())
    found = import_paths(store, [folder])
    assert found.rejected == (Rejection(path="1.pb", line=None, reason="span id has 5 bytes, not 8"),)
    assert (found.spans, names(store)) == (1, ["a"])


def test_an_unreadable_span_is_named_and_the_others_are_kept(store: Store, folder: Path) -> None:
    (folder / "1.json").write_bytes(spelled(traces(span("a"), span("odd"))).replace(b'"odd"', b"NaN"))
    (folder / "2.jsonl").write_bytes(lines(traces(span("b"), span("odd"))).replace(b'"odd"', b"7"))
    odd = traces(span("c"), span("odd")).SerializeToString()
    (folder / "3.pb").write_bytes(odd.replace(b"odd", b"o\xff\xfe"))
    found = import_paths(store, [folder])
    assert [each.path for each in found.rejected] == ["1.json", "2.jsonl", "3.pb"]
    for each, word in zip(found.rejected, ("malformed", "$.name", "UTF-8"), strict=True):
        assert word in each.reason
    assert (found.spans, names(store)) == (3, ["a", "b", "c"])


@pytest.mark.parametrize("body", [b"", b"\x00\x01\x02", b'{"role": "user"}', b"[1, 2]", b"\x1f\x8bno gzip"])
def test_a_file_of_no_known_format_is_named(store: Store, folder: Path, body: bytes) -> None:
    (folder / "odd.json").write_bytes(body)
    found = import_paths(store, [folder])
    assert (found.usable, found.files, found.spans) == (False, 0, 0)
    assert [each.reason for each in found.rejected] == ["no known format recognizes it"]


def test_a_path_that_does_not_exist_is_refused_before_anything_is_read(store: Store, folder: Path) -> None:
    (folder / "1.pb").write_bytes(FORMS["protobuf"])
    with pytest.raises(NoSuchFileError):
        import_paths(store, [folder / "1.pb", folder / "absent"])
    assert names(store) == []


def test_a_format_that_nobody_reads_is_refused_with_the_known_ones(store: Store, folder: Path) -> None:
    with pytest.raises(UnknownFormatError, match=r"Known: .*otlp"):
        import_paths(store, [folder], "zipkin")
    assert issubclass(UnknownFormatError, CollectorError)


@needs_captures
def test_every_capture_imports_whole_and_once(store: Store) -> None:
    manifest = json.loads((CAPTURES / "MANIFEST.json").read_text())
    for known in manifest["captures"]:
        found = import_paths(store, [CAPTURES / known["dir"]])
        counted = (found.spans, found.log_records, found.rejected)
        assert counted == (known["spans"], known["log_records"], ()), known["dir"]


def in_snake_case(body: bytes) -> bytes:
    """Return OTLP/JSON under protobuf's own names of fields."""

    def snake(value: object) -> object:
        if isinstance(value, list):
            return [snake(item) for item in value]
        if isinstance(value, dict):
            return {re.sub("[A-Z]", lambda m: "_" + m[0].lower(), key): snake(item) for key, item in value.items()}
        return value

    return json.dumps(snake(json.loads(body))).encode()


def of_old(body: bytes) -> bytes:
    """Return OTLP/JSON as versions before 0.19 spelled it."""
    return body.replace(b'"scopeSpans"', b'"instrumentationLibrarySpans"').replace(
        b'"scope"', b'"instrumentationLibrary"'
    )


@pytest.mark.parametrize("spell", [in_snake_case, of_old], ids=["snake case", "before 0.19"])
def test_older_spellings_give_the_same_spans(store: Store, folder: Path, spell: Callable[[bytes], bytes]) -> None:
    (folder / "a.json").write_bytes(spell(spelled(REQUEST)))
    found = import_paths(store, [folder])
    assert (found.formats, found.spans, found.rejected) == ({"otlp": 1}, 3, ())
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert {(span.name, span.scope.name) for span in records.spans} == {(name, "test.agent") for name in "abc"}
    assert records.spans[0].attributes.keys() <= {"k"}


def test_a_line_that_is_cut_off_leaves_its_trace_incomplete_and_others_as_they_are(store: Store, folder: Path) -> None:
    whole = [traces(span("a", agent(), seconds=9)), traces(span("x", agent(), trace="b", key="x"))]
    cut = traces(span("b", chat([], [said("assistant", "x")]), parent="a", at=1), span("c", parent="a", at=2))
    (folder / "a.jsonl").write_bytes(lines(*whole, cut)[:-40])
    found = import_paths(store, [folder])
    assert ([each.line for each in found.rejected], found.log_records) == ([3], 0)
    by_trace = {trial.trace_ids[0]: trial for trial in read_trials(store)}
    broken, other = by_trace[trace_id("a").hex()], by_trace[trace_id("b").hex()]
    assert (broken.status, broken.status_reason, broken.path) == ("incomplete", "recording_cut", "a.jsonl")
    assert other.status == "complete"


@pytest.mark.parametrize("form", ["protobuf", "JSON"])
def test_a_large_file_is_read_in_pieces(store: Store, folder: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes from which files are read in pieces are lowered here; each piece is a request of its own."""
    monkeypatch.setattr("spanproof_collector.importers._files._CHUNK", 1024)
    monkeypatch.setattr("spanproof_collector.importers.otlp._PIECE", 4096)
    monkeypatch.setattr("spanproof_collector.importers.otlp._LARGE", 4096)
    requests = [traces(span(f"s{n}", {"k": "v" * 50})) for n in range(200)]
    joined = b"".join(request.SerializeToString() for request in requests)
    groups = [group for request in requests for group in json.loads(spelled(request))["resourceSpans"]]
    body = joined if form == "protobuf" else json.dumps({"resourceSpans": groups}, indent=1).encode()
    (folder / "a").write_bytes(body)
    sizes: list[int] = []
    add = Writer.add

    def watched(self: Writer, request: Any, data: bytes, *rest: Any) -> Any:
        sizes.append(len(data))
        return add(self, request, data, *rest)

    monkeypatch.setattr(Writer, "add", watched)
    found = import_paths(store, [folder])
    assert (found.spans, found.rejected) == (200, ())
    assert len(sizes) > 5
    assert max(sizes) < len(body) / 4
