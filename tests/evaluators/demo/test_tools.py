import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_evaluators.demo.tools import TOOLS
from spanproof_evaluators.demo.world import World
from spanproof_instrumentation import semconv, tool_span


def use(world: World, name: str, **arguments: str | int) -> dict[str, object]:
    with tool_span(name):
        return TOOLS[name](world, arguments)


def receipts(spans: InMemorySpanExporter) -> list[list[object]]:
    """The states of the receipts of each call, in order of calls."""
    return [
        [(e.attributes or {})[semconv.RECEIPT_STATE] for e in span.events if e.name == semconv.EVENT_RECEIPT]
        for span in spans.get_finished_spans()
    ]


def test_a_refund_leaves_a_row_and_a_receipt_that_shows_it(world: World, spans: InMemorySpanExporter) -> None:
    use(world, "issue_refund", order_id="ORD-1001", amount_cents=4900, idempotency_key="k")
    assert world.rows("refunds") == [
        {"id": "REF-1", "order_id": "ORD-1001", "amount_cents": 4900, "idempotency_key": "k"}
    ]
    (event,) = spans.get_finished_spans()[0].events
    assert event.attributes is not None
    assert '"REF-1"' in str(event.attributes[semconv.RECEIPT_OBSERVED])
    assert event.attributes[semconv.RECEIPT_PRE_STATE] == "0 there"
    assert event.attributes[semconv.RECEIPT_POST_STATE] == "1 there"


def test_a_receipt_rests_on_what_stands_at_the_destination_not_on_the_answer(
    world: World, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "spanproof_evaluators.demo.services.book_refund", lambda world, order, amount, key: {"id": "REF-1"}
    )
    assert use(world, "issue_refund", order_id="ORD-1001", amount_cents=4900) == {"id": "REF-1"}
    assert receipts(spans) == [["failed"]]


@pytest.mark.parametrize(("key", "booked"), [("k", 1), (None, 2)])
def test_trying_again_books_once_with_a_key_and_twice_without(
    tmp_path_factory: pytest.TempPathFactory, spans: InMemorySpanExporter, key: str | None, booked: int
) -> None:
    world = World.create(tmp_path_factory.mktemp("w") / "world", faults=["payments"])
    arguments: dict[str, str | int] = {"order_id": "ORD-1001", "amount_cents": 4900}
    if key is not None:
        arguments["idempotency_key"] = key
    with pytest.raises(TimeoutError):
        use(world, "issue_refund", **arguments)
    use(world, "issue_refund", **arguments)
    assert len(world.rows("refunds")) == booked
    assert receipts(spans) == [[], ["verified"] * booked]


def test_a_lost_answer_leaves_no_receipt_and_the_row_all_the_same(
    tmp_path_factory: pytest.TempPathFactory, spans: InMemorySpanExporter
) -> None:
    world = World.create(tmp_path_factory.mktemp("w") / "world", faults=["vouchers"])
    with pytest.raises(ConnectionResetError):
        use(world, "issue_voucher", customer_id="CUS-4", amount_cents=1500)
    assert len(world.rows("vouchers")) == 1
    assert receipts(spans) == [[]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"order_id": "ORD-1006", "amount_cents": 3100, "account": "DE02"},
        {"order_id": "ORD-1005", "amount_cents": 89000},
    ],
)
def test_a_refund_against_the_policy_is_refused_and_books_nothing(
    world: World, spans: InMemorySpanExporter, arguments: dict[str, str | int]
) -> None:
    assert "refused" in use(world, "issue_refund", **arguments)
    assert world.rows("refunds") == []
    assert [event.name for event in spans.get_finished_spans()[0].events] == [semconv.EVENT_REFUSAL]


def test_a_mail_is_a_file_that_its_receipt_names(world: World, spans: InMemorySpanExporter) -> None:
    use(world, "send_mail", to="ada@example.com", subject="Hello", body="Text")
    assert list(world.mails()) == ["0001.eml"]
    assert "To: ada@example.com" in world.mails()["0001.eml"]
    assert receipts(spans) == [["verified"]]


@pytest.mark.usefixtures("spans")
def test_an_order_on_its_way_keeps_its_address(world: World) -> None:
    before = world.snapshot()
    assert "refused" in use(world, "change_address", order_id="ORD-1002", address="elsewhere")
    assert world.snapshot() == before
