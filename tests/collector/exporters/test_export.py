"""What was stored, written into a file and read back, is what was stored."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from spanproof_collector.exporters import Exported, ExportError, export
from spanproof_collector.importers import import_paths
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.otlp import WIRE
from spanproof_collector.pipeline import Writer
from spanproof_collector.store import Store
from spanproof_collector.trials import read_trials
from tests.factories import agent, chat, event, log_record, logs, said, span, span_id, tool, trace_id, traces
from tests.shared import CAPTURES, needs_captures
from tests.storing import Request, put

NAMES = ["trials.jsonl", "trials.jsonl.gz", "trials.parquet"]


def table(store: Store, name: str, columns: str) -> list[tuple[object, ...]]:
    """Return rows of the store as they lie there, each once."""
    with store._connection() as connection:
        sql = f"SELECT DISTINCT {columns} FROM {name} FINAL ORDER BY ALL"
        return [tuple(row) for row in connection.client.query(sql).result_rows]


SPANS = """project, trace_id, span_id, parent_span_id, start_unix_nano, end_unix_nano, name, kind, status,
status_message, trace_state, flags, attribute.key, attribute.type, attribute.value, dropped_attributes, events,
dropped_events, links, dropped_links, resource, scope, version"""
LOGS = """project, trace_id, span_id, record_id, time_unix_nano, observed_unix_nano, severity, severity_text,
event_name, body_type, body, attribute.key, attribute.type, attribute.value, dropped_attributes, flags,
resource, scope"""

Stored = tuple[list[tuple[object, ...]], list[tuple[object, ...]], list[tuple[object, ...]]]


def everything(store: Store) -> Stored:
    """Return all that was sent, byte for byte, but whence it came."""
    return (
        table(store, "spans", SPANS),
        table(store, "log_records", LOGS),
        table(store, "content", "project, trace_id, hash, body"),
    )


def trials(store: Store) -> list[Trial]:
    return [replace(trial, source="", path=None) for trial in read_trials(store)]


def empty(store: Store) -> None:
    with store._connection() as connection:
        for name in ("spans", "log_records", "content", "steps", "log_steps"):
            connection.client.command(f"TRUNCATE TABLE {name}")


def round_trip(store: Store, path: Path, *, wanted: Filter | None = None) -> Exported:
    """Export, empty the store, and import."""
    path.unlink(missing_ok=True)
    made = export(store, wanted or Filter(), path)
    empty(store)
    found = import_paths(store, [path])
    assert (found.spans, found.log_records, found.rejected) == (made.spans, made.log_records, ())
    return made


def put_together(store: Store, requests: list[Request]) -> None:
    """Store the requests as one block."""
    writer = Writer(store)
    for request in requests:
        writer.add(request, request.SerializeToString(), WIRE)
    writer.flush()


def odd() -> list[Request]:
    """Spans and log records with everything that OTLP can say and that is easily lost."""
    pairs = KeyValueList(values=[KeyValue(key="k", value=AnyValue(int_value=n)) for n in (1, 2**62, -(2**63))])
    values = [
        AnyValue(),
        AnyValue(string_value=""),
        AnyValue(string_value="long " * 500),
        AnyValue(string_value=json.dumps([said("user", f"message {n} " * 20) for n in range(4)])),
        AnyValue(bool_value=False),
        AnyValue(int_value=0),
        AnyValue(int_value=2**63 - 1),
        AnyValue(double_value=0.1),
        AnyValue(double_value=float("inf")),
        AnyValue(double_value=-0.0),
        AnyValue(double_value=1e300),
        AnyValue(bytes_value=bytes(range(256))),
        AnyValue(bytes_value=b""),
        AnyValue(kvlist_value=pairs),
        AnyValue(array_value=ArrayValue(values=[AnyValue(kvlist_value=pairs), AnyValue(), AnyValue(double_value=2)])),
        AnyValue(array_value=ArrayValue()),
    ]
    attributes = [KeyValue(key=f"k{number % 5}", value=value) for number, value in enumerate(values)]
    one = Span(
        trace_id=trace_id("odd"),
        span_id=span_id("odd"),
        parent_span_id=span_id("elsewhere"),
        trace_state="a=1,b=2",
        flags=0x301,
        name="odd \u2028 name",
        kind=Span.SPAN_KIND_CONSUMER,
        start_time_unix_nano=2**64 - 1,
        end_time_unix_nano=1,
        attributes=attributes,
        dropped_attributes_count=7,
        events=[
            Span.Event(name="", attributes=attributes, dropped_attributes_count=3),
            Span.Event(name="e", time_unix_nano=2**63 + 1),
        ],
        dropped_events_count=8,
        links=[
            Span.Link(
                trace_id=trace_id("x"),
                span_id=span_id("x"),
                trace_state="c=3",
                attributes=attributes,
                dropped_attributes_count=2,
                flags=0x100,
            )
        ],
        dropped_links_count=9,
        status=Status(code=Status.STATUS_CODE_OK, message="fine"),
    )
    request = traces(one, span("plain", trace="odd"))
    (group,) = request.resource_spans
    group.resource.dropped_attributes_count = 4
    group.resource.attributes.extend(attributes)
    group.schema_url = "https://example.org/resource"
    (scope,) = group.scope_spans
    scope.schema_url = "https://example.org/scope"
    scope.scope.CopyFrom(InstrumentationScope(name="s", version="v", attributes=attributes, dropped_attributes_count=5))
    record = log_record("named", body={"a": [1, None, b"x"]}, trace="odd", of="odd")
    record.attributes.extend(attributes)
    record.severity_number, record.severity_text, record.flags = 17, "ERROR", 1  # type: ignore[assignment]
    record.observed_time_unix_nano, record.dropped_attributes_count = 2**64 - 1, 6
    older = log_record("", {"event.name": "older"}, trace="odd")
    twice = log_record("both", {"event.name": "both"}, trace="odd")
    hollow = log_record("hollow", trace="odd")
    hollow.body.CopyFrom(AnyValue())
    return [request, logs(record, older, twice, hollow), traces(span("bare", trace="bare"))]


@pytest.mark.parametrize("name", NAMES)
def test_odd_spans_come_back_byte_for_byte(store: Store, tmp_path: Path, name: str) -> None:
    put(store, *odd())
    rows, read = everything(store), trials(store)
    made = round_trip(store, tmp_path / name)
    assert everything(store) == rows
    assert trials(store) == read
    assert (made.trials, made.traces, made.spans, made.log_records, made.lost_values) == (2, 2, 3, 4, 0)
    assert made.bytes == (tmp_path / name).stat().st_size


_texts = st.text(st.characters(codec="utf-8"), max_size=300)
_scalars = st.one_of(
    st.builds(AnyValue),
    st.builds(AnyValue, string_value=_texts),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
    # A NaN is spelled NaN, whatever its bits.
    st.builds(AnyValue, double_value=st.floats(allow_nan=False) | st.just(math.nan)),
    st.builds(AnyValue, bytes_value=st.binary(max_size=600)),
)


def _nested(inner: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    pairs = st.lists(st.builds(KeyValue, key=_texts, value=inner), max_size=4)
    return st.one_of(
        st.builds(lambda values: AnyValue(array_value=ArrayValue(values=values)), st.lists(inner, max_size=4)),
        st.builds(lambda values: AnyValue(kvlist_value=KeyValueList(values=values)), pairs),
    )


_attributes = st.lists(st.builds(KeyValue, key=_texts, value=st.recursive(_scalars, _nested, max_leaves=8)), max_size=5)


@pytest.mark.parametrize("name", ["trials.jsonl", "trials.parquet"])
def test_any_values_come_back_byte_for_byte(store: Store, tmp_path: Path, name: str) -> None:
    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(_attributes, _attributes), min_size=1, max_size=15))
    def check(found: list[tuple[list[KeyValue], list[KeyValue]]]) -> None:
        empty(store)
        some: list[Request] = []
        for number, (on_span, on_event) in enumerate(found):
            one = span("any", trace=f"any {number}")
            one.attributes.extend(on_span)
            one.events.append(Span.Event(name="e", attributes=on_event))
            record = log_record("said", trace=f"any {number}")
            record.attributes.extend(on_event)
            some += [traces(one), logs(record)]
        put_together(store, some)
        rows = everything(store)
        round_trip(store, tmp_path / name)
        assert everything(store) == rows

    check()


@needs_captures
@pytest.mark.parametrize("name", ["captures.jsonl.gz", "captures.parquet"])
def test_captures_come_back_to_equal_trials(store: Store, tmp_path: Path, name: str) -> None:
    """All at once: some have one session or equal conversations, which must be joined again as they were."""
    import_paths(store, [CAPTURES])
    rows, read = everything(store), trials(store)
    assert read
    round_trip(store, tmp_path / name)
    assert trials(store) == read
    # Log records that name neither a trace nor a session are part of no trial, and stay.
    assert everything(store)[0] == rows[0]


def test_through_a_running_server_the_file_is_the_same(store: Store, store_over_http: Store, tmp_path: Path) -> None:
    put(store, *odd())
    export(store, Filter(), tmp_path / "here.jsonl")
    export(store_over_http, Filter(), tmp_path / "there.jsonl")
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()


def test_a_line_is_one_request_in_the_spelling_of_the_protocol(store: Store, tmp_path: Path) -> None:
    one = span("a", {"n": 2**53 + 1, "raw": b"\xff"}, at=1, error="no")
    put(store, traces(one, resource={"service.name": "s"}))
    export(store, Filter(), tmp_path / "a.jsonl")
    (line,) = (tmp_path / "a.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
                "scopeSpans": [
                    {
                        "scope": {"name": "test.agent"},
                        "spans": [
                            {
                                "traceId": trace_id("a").hex(),
                                "spanId": span_id("a").hex(),
                                "name": "a",
                                "kind": 1,
                                "startTimeUnixNano": "1760000001000000000",
                                "endTimeUnixNano": "1760000002000000000",
                                "attributes": [
                                    {"key": "n", "value": {"intValue": "9007199254740993"}},
                                    {"key": "raw", "value": {"bytesValue": "/w=="}},
                                ],
                                "status": {"message": "no", "code": 2},
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_the_columns_of_parquet_hold_what_they_are_called(store: Store, tmp_path: Path) -> None:
    put(store, traces(span("a", tool("pay", {"n": 1}, "paid"), events=[event("e", {"k": True})])))
    export(store, Filter(), tmp_path / "a.parquet")
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert (row["record"], row["name"], row["trace_id"]) == ("span", "a", trace_id("a").hex())
    assert {"key": "gen_ai.tool.name", "type": "string", "value": "pay"} in row["attributes"]
    assert row["events"][0]["attributes"] == [{"key": "k", "type": "bool", "value": "true"}]


def test_only_what_is_asked_for_goes_and_traces_go_whole(store: Store, tmp_path: Path) -> None:
    put(
        store,
        traces(
            span("one", agent(**{"gen_ai.conversation.id": "s1"}), trace="1"), span("below", trace="1", parent="one")
        ),
        traces(span("two", agent(**{"gen_ai.conversation.id": "s2"}), trace="2")),
        logs(
            log_record("user_prompt", {"session.id": "s1"}, trace=None),
            log_record("user_prompt", {"session.id": "s2"}, trace=None),
            log_record("nobody's", trace=None),
        ),
    )
    made = round_trip(store, tmp_path / "s1.jsonl", wanted=Filter(sessions=("s1",)))
    assert (made.trials, made.spans, made.log_records) == (1, 2, 1)
    assert [trial.session_id for trial in trials(store)] == ["s1"]
    assert [row[1] for row in table(store, "log_records", "record_id, trace_id")] == [""]


def test_a_long_trace_is_written_in_parts(store: Store, tmp_path: Path) -> None:
    put(store, traces(*[span(f"{n}", trace="long") for n in range(1201)]))
    made = export(store, Filter(), tmp_path / "long.jsonl")
    sizes = [len(line) for line in (tmp_path / "long.jsonl").read_text().splitlines()]
    assert (made.spans, len(sizes)) == (1201, 3)
    export(store, Filter(), tmp_path / "long.parquet")
    assert pq.ParquetFile(tmp_path / "long.parquet").num_row_groups == 3


def test_a_file_that_is_there_stays_unless_forced(store: Store, tmp_path: Path) -> None:
    put(store, traces(span("a")))
    file = tmp_path / "a.jsonl"
    file.write_text("mine")
    with pytest.raises(ExportError, match="--force"):
        export(store, Filter(), file)
    assert file.read_text() == "mine"
    export(store, Filter(), file, force=True)
    assert file.read_text().startswith('{"resourceSpans"')
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


def test_an_export_that_fails_leaves_nothing_behind(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, traces(span("a")))

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spanproof_collector.exporters.exporting.traces_line", fail)
    with pytest.raises(ExportError, match="No space left"):
        export(store, Filter(), tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "a.txt", "a.gz", "a.parquet.gz"])
def test_a_name_that_tells_no_format_is_asked_about(store: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match="--format"):
        export(store, Filter(), tmp_path / name)


def test_a_packed_file_is_gzip(store: Store, tmp_path: Path) -> None:
    put(store, traces(span("a")))
    export(store, Filter(), tmp_path / "a.jsonl.gz")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).startswith(b'{"resourceSpans"')


def test_a_value_that_the_store_lost_is_counted(store: Store, tmp_path: Path) -> None:
    put(store, traces(span("a", chat([said("user", "long " * 200)], None))))
    with store._connection() as connection:
        connection.client.command("TRUNCATE TABLE content")
    assert export(store, Filter(), tmp_path / "a.jsonl").lost_values == 1


def test_parquet_of_other_columns_is_not_ours(store: Store, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    found = import_paths(store, [tmp_path / "other.parquet"])
    assert (found.files, [each.reason for each in found.rejected]) == (0, ["no known format recognizes it"])


def test_damaged_parquet_is_named(store: Store, tmp_path: Path) -> None:
    put(store, traces(span("a")))
    export(store, Filter(), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (rejected,) = import_paths(store, [tmp_path / "cut.parquet"]).rejected
    assert rejected.reason.startswith("the Parquet cannot be read")
