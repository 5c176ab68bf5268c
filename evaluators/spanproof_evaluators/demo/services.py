"""The services at the other end of a line: they book first and answer then, and an answer can get lost."""

from spanproof_evaluators.demo.world import Row, World


def book_refund(world: World, order_id: str, amount_cents: int, idempotency_key: str | None) -> Row:
    """Book a refund, once for each key; without a key, each time.

    Raises:
        TimeoutError: it was booked, and the answer did not come back in time.
    """
    booked = _book(world, "refunds", "REF", "order_id", order_id, amount_cents, idempotency_key)
    if _answer_is_lost(world, "payments"):
        raise TimeoutError("no answer from the payment service within 10 s")
    return booked


def book_voucher(world: World, customer_id: str, amount_cents: int, idempotency_key: str | None) -> Row:
    """Book a voucher, once for each key; without a key, each time.

    Raises:
        ConnectionResetError: it was booked, and the line broke before the answer.
    """
    booked = _book(world, "vouchers", "VOU", "customer_id", customer_id, amount_cents, idempotency_key)
    if _answer_is_lost(world, "vouchers"):
        raise ConnectionResetError("connection reset by the voucher service")
    return booked


def _book(
    world: World, table: str, prefix: str, column: str, owner: str, amount_cents: int, idempotency_key: str | None
) -> Row:
    with world.connected() as shop:
        if idempotency_key is not None:
            known = shop.execute(f"SELECT * FROM {table} WHERE idempotency_key = ?", (idempotency_key,)).fetchone()
            if known is not None:
                return dict(known)
        number = shop.execute(f"SELECT count(*) FROM {table}").fetchone()[0] + 1
        row: Row = {
            "id": f"{prefix}-{number}",
            column: owner,
            "amount_cents": amount_cents,
            "idempotency_key": idempotency_key,
        }
        shop.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", tuple(row.values()))
        return row


def _answer_is_lost(world: World, service: str) -> bool:
    with world.connected() as shop:
        return shop.execute("DELETE FROM line_faults WHERE service = ?", (service,)).rowcount > 0
