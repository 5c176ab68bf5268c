from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.otlp import Origin
from spanproof_collector.pipeline import Writer
from spanproof_collector.pipeline.writing import BLOCK_ROWS
from spanproof_collector.store import Store
from tests.factories import span, trace_id, traces

HERE = Origin("import:otlp", "here.pb")


def _write(store: Store, *spans: Span, origin: Origin = HERE) -> None:
    writer = Writer(store)
    request = traces(*spans)
    writer.add(request, request.SerializeToString(), origin)
    writer.flush()


def _spans(store: Store) -> list[str]:
    records = store.read_traces([("default", trace_id("a").hex())])
    return sorted(each.name for found in records.values() for each in found.spans)


def test_what_was_flushed_is_durable_and_knows_its_file(store: Store) -> None:
    _write(store, span("a"))
    (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
    assert (records.source, records.path) == ("import:otlp", "here.pb")


def test_a_file_written_twice_is_kept_once(store: Store) -> None:
    for _ in range(2):
        _write(store, span("a"), span("b"))
    assert _spans(store) == ["a", "b"]


def test_the_same_bytes_under_another_path_are_kept_once(store: Store) -> None:
    _write(store, span("a"))
    _write(store, span("a"), origin=Origin("import:otlp", "copy.pb"))
    assert _spans(store) == ["a"]


def test_of_two_versions_of_a_span_the_richer_stands_in_either_order(store: Store) -> None:
    poor, rich = span("a"), span("a", {"more": "said"})
    for first, second in ((poor, rich), (rich, poor)):
        _write(store, first)
        _write(store, second)
        (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
        assert [each.attributes for each in records.spans] == [{"more": "said"}]


def test_a_full_block_is_written_before_the_rest_is_known(store: Store) -> None:
    writer = Writer(store)
    request = traces(*[span(f"{number}") for number in range(BLOCK_ROWS)])
    writer.add(request, request.SerializeToString(), HERE)
    assert len(_spans(store)) == BLOCK_ROWS
