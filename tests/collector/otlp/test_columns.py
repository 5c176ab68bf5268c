import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.dialects import LogProjection, Projection, SpanView, project
from spanproof_collector.otlp import Batch, Origin, Sent, convert_logs, convert_traces, merge
from spanproof_collector.store.values import LIST, SPACED, STRING, WHOLE
from tests.factories import chat, log_record, logs, said, span, trace_id, traces


def _broken(**ids: bytes) -> Span:
    broken = span("broken")
    for name, value in ids.items():
        setattr(broken, name, value)
    return broken


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ({"trace_id": b"short"}, "trace id has 5 bytes, not 16"),
        ({"trace_id": b""}, "trace id has 0 bytes, not 16"),
        ({"trace_id": bytes(16)}, "trace id is all zeros"),
        ({"span_id": b"too long!"}, "span id has 9 bytes, not 8"),
        ({"span_id": bytes(8)}, "span id is all zeros"),
        ({"parent_span_id": b"half"}, "parent span id has 4 bytes, not 8"),
    ],
)
def test_a_span_whose_id_has_no_valid_length_is_rejected_alone(ids: dict[str, bytes], reason: str) -> None:
    broken = _broken(**ids)
    batch = convert_traces(traces(span("good"), broken, span("better")), Sent())
    assert batch.spans["name"] == ["good", "better"]
    assert [(each.reason, each.body) for each in batch.rejected] == [(reason, broken.SerializeToString())]


def test_a_parent_of_zeros_is_no_parent() -> None:
    assert convert_traces(traces(_broken(parent_span_id=bytes(8))), Sent()).spans["parent_span_id"] == [""]


def test_a_log_record_with_a_broken_id_is_kept_without_it() -> None:
    record = log_record("said")
    record.trace_id = b"short"
    assert convert_logs(logs(record), Sent()).log_records["trace_id"] == [""]


def test_steps_tell_of_every_span() -> None:
    batch = convert_traces(traces(span("a", chat([said("user", "hi")], [])), span("b", error="no")), Sent())
    assert batch.steps["kind"] == ["model_call", "other"]
    assert batch.steps["failed"] == [False, True]
    assert batch.steps["span_id"] == batch.spans["span_id"]


def test_the_project_is_the_resource_s() -> None:
    assert convert_traces(traces(span("a")), Sent()).spans["project"] == ["default"]
    named = traces(span("a"), resource={"spanproof.project": "shop"})
    assert convert_traces(named, Sent()).spans["project"] == ["shop"]


def test_rows_say_where_they_came_from() -> None:
    batch = convert_traces(traces(span("a")), Sent(), Origin("import:otlp", "run/1.pb"))
    assert (batch.spans["source"], batch.spans["path"]) == (["import:otlp"], ["run/1.pb"])


def _version(one: Span) -> int:
    (version,) = convert_traces(traces(one), Sent()).spans["version"]
    assert isinstance(version, int)
    return version


def test_the_richer_span_has_the_greater_version() -> None:
    assert _version(span("a", {"more": "said"})) > _version(span("a"))


def test_of_two_equally_rich_spans_the_same_one_is_greater_in_any_order() -> None:
    one, other = span("a", {"k": "1"}), span("a", {"k": "2"})
    assert one.ByteSize() == other.ByteSize()
    assert _version(one) != _version(other)
    assert _version(one) == _version(one)


def test_a_log_record_sent_twice_has_one_id_and_another_record_another() -> None:
    first, again = (convert_logs(logs(log_record("said", at=1)), Sent()) for _ in range(2))
    other = convert_logs(logs(log_record("said", at=2)), Sent())
    elsewhere = convert_logs(logs(log_record("said", at=1), scope="other"), Sent())
    ids = [batch.log_records["record_id"][0] for batch in (first, again, other, elsewhere)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def _stored(text: str, sent: Sent | None = None) -> tuple[int, str, Batch]:
    batch = convert_traces(traces(span("a", {"text": text})), sent or Sent())
    return *_row(batch, 0), batch


def _row(batch: Batch, number: int) -> tuple[int, str]:
    kinds, texts = batch.spans["attribute.type"][number], batch.spans["attribute.value"][number]
    assert isinstance(kinds, bytes)
    assert isinstance(texts, list)
    return kinds[0], texts[0]


def _joined(kind: int, held: str, batch: Batch) -> str:
    bodies = {digest: body.decode() for texts in batch.content.values() for digest, body in texts.items()}
    match kind & ~0x0F:
        case 0:
            return held
        case place if place == WHOLE:
            return bodies[held]
        case place:
            return "[" + (", " if place == SPACED else ",").join(bodies[each] for each in held.split(" ")) + "]"


MESSAGES = [{"role": "user", "content": f"{number} " + "word " * 30} for number in range(5)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x" * 511, 0),
        ("x" * 512, WHOLE),
        ("é" * 255, 0),
        ("é" * 256, WHOLE),
        (json.dumps(["x" * 125, "y" * 122]), 0),
        (json.dumps(["x" * 125, "y" * 123]), SPACED),
        (json.dumps(list(range(70))), 0),
        ("[" + "é" * 130, 0),
        (json.dumps(["漢" * 123], ensure_ascii=False), 0),
        (json.dumps(["漢" * 124], ensure_ascii=False), SPACED),
        (json.dumps(MESSAGES), SPACED),
        (json.dumps(MESSAGES, separators=(",", ":")), LIST),
        (json.dumps(MESSAGES, indent=1), WHOLE),
        (json.dumps(list(range(400))), WHOLE),
        (json.dumps(MESSAGES)[:-1], WHOLE),
        ("[" * 2000, WHOLE),
    ],
)
def test_a_long_text_goes_out_of_line_and_joins_to_the_same_bytes(text: str, place: int) -> None:
    kind, held, batch = _stored(text)
    assert kind == STRING | place
    assert _joined(kind, held, batch) == text


@given(
    st.lists(st.sampled_from([*MESSAGES, {"role": "user", "content": "é" * 300}]), min_size=1, max_size=6),
    st.sampled_from([(", ", ": "), (",", ":")]),
)
def test_every_length_of_a_growing_history_joins_to_the_same_bytes(
    messages: list[dict[str, str]], separators: tuple[str, str]
) -> None:
    texts = [json.dumps(messages[: end + 1], separators=separators) for end in range(len(messages))]
    texts += texts[-1:]
    batch = convert_traces(traces(*[span(f"{n}", {"text": text}) for n, text in enumerate(texts)]), Sent())
    assert [_joined(*_row(batch, number), batch) for number in range(len(texts))] == texts


def test_a_message_is_sent_once_a_trace_however_often_a_history_repeats_it() -> None:
    texts = [json.dumps(MESSAGES[: end + 1]) for end in range(1, len(MESSAGES))]
    sent = Sent()
    batch = convert_traces(traces(*[span(f"{n}", {"text": text}) for n, text in enumerate(texts)]), sent)
    assert _texts(batch) == len(MESSAGES)
    sent.add(batch.content)
    assert not convert_traces(traces(span("later", {"text": texts[-1]})), sent).content
    assert _texts(convert_traces(traces(span("elsewhere", {"text": texts[-1]}, trace="b")), sent)) == 5


def _texts(batch: Batch) -> int:
    return sum(map(len, batch.content.values()))


def _sent_on(sent: Sent, texts: list[str], *, durable: bool) -> list[Batch]:
    """Convert each text in a request of its own; with ``durable`` the store has each before the next comes."""
    batches = []
    for number, text in enumerate(texts):
        batches.append(convert_traces(traces(span(f"{number}", {"text": text})), sent))
        if durable:
            sent.add(batches[-1].content)
    return batches


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_a_history_grows_from_request_to_request_and_joins_to_the_same_bytes(separators: tuple[str, str]) -> None:
    texts = [json.dumps(MESSAGES[: end + 1], separators=separators) for end in range(2, len(MESSAGES))]
    batches = _sent_on(Sent(), texts, durable=True)
    assert [_texts(batch) for batch in batches] == [3, 1, 1]
    joined = [_joined(*_row(batch, 0), merge(batches)) for batch in batches]
    assert joined == texts


def test_a_history_whose_rows_were_never_durable_is_sent_whole_again() -> None:
    texts = [json.dumps(MESSAGES[: end + 1]) for end in range(2, len(MESSAGES))]
    batches = _sent_on(Sent(), texts, durable=False)
    assert [_joined(*_row(batch, 0), batch) for batch in batches] == texts


def test_a_history_whose_rows_were_deleted_is_sent_whole_again() -> None:
    sent, text = Sent(), json.dumps(MESSAGES)
    _sent_on(sent, [text], durable=True)
    sent.forget(1)
    (batch,) = _sent_on(sent, [text], durable=True)
    assert _joined(*_row(batch, 0), batch) == text


def test_lists_of_more_bytes_than_are_remembered_join_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanproof_collector.otlp.content._STEMS", 2000)
    texts = [json.dumps([*MESSAGES[:4], *MESSAGES[: end + 1]]) for end in range(len(MESSAGES))]
    batches = _sent_on(Sent(), texts, durable=True)
    assert [_joined(*_row(batch, 0), merge(batches)) for batch in batches] == texts


@pytest.mark.parametrize("cut", ["", ",", ", ", "]]", "}"])
@pytest.mark.parametrize("together", [True, False])
def test_a_history_that_was_cut_where_a_message_ends_keeps_its_bytes(cut: str, together: bool) -> None:
    text = json.dumps(MESSAGES)
    texts = [text, text[:-1] + cut]
    if together:
        batch = convert_traces(traces(*[span(f"{n}", {"text": each}) for n, each in enumerate(texts)]), Sent())
        assert [_joined(*_row(batch, number), batch) for number in range(2)] == texts
        return
    batches = _sent_on(Sent(), texts, durable=True)
    assert [_joined(*_row(batch, 0), merge(batches)) for batch in batches] == texts


def test_an_attribute_is_read_alike_the_first_time_and_again() -> None:
    values: dict[str, object] = {
        "text": "é\0\n", "empty": "", "none": None, "yes": True, "no": False, "zero": 0, "least": -(2**63),
        "double": -0.0, "bytes": b"\0\xff", "list": ["a", 1, None], "map": {"a": {"b": [1.5]}}, "": "no key",
    }  # fmt: skip
    first, *others = (convert_traces(traces(span(name, values)), Sent()).spans for name in ("a", "b", "c"))
    for column in ("attribute.key", "attribute.type", "attribute.value"):
        assert {repr(other[column]) for other in others} == {repr(first[column])}
    assert first["attribute.key"] == [list(values)]


def test_attributes_that_come_again_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[bytes, object] = {}
    met: set[int] = set()
    monkeypatch.setattr("spanproof_collector.otlp.attributes._known", known)
    monkeypatch.setattr("spanproof_collector.otlp.attributes._met", met)
    monkeypatch.setattr("spanproof_collector.otlp.attributes._MOST_KNOWN", 10)
    convert_traces(traces(*[span(f"{n}", {"n": n}) for n in range(25)]), Sent())
    assert not known
    assert 0 < len(met) <= 10
    numbers = [n // 2 for n in range(50)]
    batch = convert_traces(traces(*[span(f"{n}", {"n": n, "long": "x" * 200}) for n in numbers]), Sent())
    assert [texts[0] for texts in batch.spans["attribute.value"]] == [str(n) for n in numbers]  # type: ignore[index]
    assert 0 < len(known) <= 10
    assert 0 < len(met) <= 10


def test_a_short_attribute_whose_text_is_long_goes_out_of_line_each_time() -> None:
    batch = convert_traces(traces(*[span(f"{n}", {"flags": [True] * 31}) for n in range(2)]), Sent())
    for number in range(2):
        kind, held = _row(batch, number)
        assert kind & ~0x0F
        assert _joined(kind, held, batch) == "[" + ",".join(['{"boolValue":true}'] * 31) + "]"


def test_what_was_sent_is_forgotten_in_the_order_sent() -> None:
    sent = Sent(limit=8)  # of a trace and a text each
    for number in range(6):
        sent.add({("p", "t"): {str(number): b""}})
    young, old = sent.of_trace(("p", "t"))
    assert young | old == {"2", "3", "4", "5"}
    assert sent.of_trace(("p", "other")) == (set(), set())


def test_texts_of_records_without_a_trace_stay_in_the_row() -> None:
    batch = convert_logs(logs(log_record("said", {"k": "x" * 600}, body="y" * 600, trace=None)), Sent())
    assert not batch.content
    assert batch.log_records["body"] == ["y" * 600]


def test_a_dialect_that_fails_costs_the_projection_and_not_the_span(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(spans: list[SpanView]) -> list[tuple[object, ...]]:
        if any("broken" in span.attributes for span in spans):
            raise RuntimeError("no such dialect")
        return project(spans)

    monkeypatch.setattr("spanproof_collector.otlp.columns.project", failing)
    sent = traces(span("a", {"broken": True}), span("b", {"gen_ai.operation.name": "retrieval"}))
    batch = convert_traces(sent, Sent())
    assert (batch.spans["name"], batch.steps["kind"]) == (["a", "b"], ["other", "retrieval"])
    assert caplog.text.count("stored without a projection") == 1


def test_columns_are_the_projections_fields() -> None:
    steps = convert_traces(traces(span("a")), Sent()).steps
    assert set(Projection._fields) <= set(steps)
    log_steps = convert_logs(logs(log_record("a")), Sent()).log_steps
    assert set(LogProjection._fields) <= set(log_steps)
    assert convert_traces(traces(span("a")), Sent()).spans["trace_id"] == [trace_id("a").hex()]
