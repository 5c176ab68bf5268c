"""The tools of the agents. Each declares its effect and leaves a receipt of what it then saw at the destination.

A receipt is read by a query or a file of its own, never taken from the answer of the service. Where a call fails
before that, no receipt is written: nobody looked.
"""

from collections.abc import Callable, Mapping
from email import message_from_string
from email.message import EmailMessage
from typing import Final, TypeAlias

from spanproof_evaluators.demo import services
from spanproof_evaluators.demo.world import Row, Value, World
from spanproof_instrumentation import effect, receipt, refusal

Arguments: TypeAlias = Mapping[str, Value]
Result: TypeAlias = dict[str, object]
Tool: TypeAlias = Callable[[World, Arguments], Result]

MOST_WITHOUT_APPROVAL: Final = 20_000
_SENT_ON: Final = "Mon, 09 Mar 2026 09:00:00 +0000"


def lookup_order(world: World, given: Arguments) -> Result:
    """Return an order with its customer."""
    _reads("shop.sqlite", f"orders/{given['order_id']}")
    (order,) = world.rows("orders", id=given["order_id"])
    (customer,) = world.rows("customers", id=order["customer_id"])
    return {**order, "customer": customer["name"], "email": customer["email"]}


def issue_refund(world: World, given: Arguments) -> Result:
    """Refund an order to the card that it was paid with."""
    order_id, key = str(given["order_id"]), _text(given.get("idempotency_key"))
    change = _Change("shop.sqlite", f"refunds/{order_id}", "refund", key)
    change.declare()
    if given.get("account") is not None:
        refusal("refunds go to the payment method of the order only", by="refund policy 4")
        return {"refused": "refund policy 4: refunds go to the payment method of the order only"}
    amount = _number(given["amount_cents"])
    if amount > MOST_WITHOUT_APPROVAL:
        refusal("needs an approval", by="refund policy 2")
        return {"refused": "refund policy 2: needs an approval"}
    before = world.rows("refunds", order_id=order_id)
    booked = services.book_refund(world, order_id, amount, key)
    change.witness(before, world.rows("refunds", order_id=order_id))
    return dict(booked)


def issue_voucher(world: World, given: Arguments) -> Result:
    """Give a customer a voucher."""
    customer_id, key = str(given["customer_id"]), _text(given.get("idempotency_key"))
    change = _Change("shop.sqlite", f"vouchers/{customer_id}", "issue", key)
    change.declare()
    before = world.rows("vouchers", customer_id=customer_id)
    booked = services.book_voucher(world, customer_id, _number(given["amount_cents"]), key)
    change.witness(before, world.rows("vouchers", customer_id=customer_id))
    return dict(booked)


def find_refunds(world: World, given: Arguments) -> Result:
    """Return the refunds of an order."""
    _reads("shop.sqlite", f"refunds/{given['order_id']}")
    return {"refunds": world.rows("refunds", order_id=given["order_id"])}


def find_vouchers(world: World, given: Arguments) -> Result:
    """Return the vouchers of a customer. Seeing one there is a receipt for the call that booked it."""
    customer_id = str(given["customer_id"])
    _reads("shop.sqlite", f"vouchers/{customer_id}")
    found = world.rows("vouchers", customer_id=customer_id)
    for row in found:
        change = _Change("shop.sqlite", f"vouchers/{customer_id}", "issue", _text(row["idempotency_key"]))
        if change.key is not None:
            change.seen(row)
    return {"vouchers": found}


def send_mail(world: World, given: Arguments) -> Result:
    """Put a mail into the mailbox that the mail server delivers from."""
    to, subject = str(given["to"]), str(given["subject"])
    change = _Change("mail", f"mail/{to}", "send", _text(given.get("idempotency_key")))
    change.declare()
    before = _headers_of_mails_to(world, to)
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Date"] = "shop@example.com", to, subject, _SENT_ON
    mail.set_content(str(given["body"]))
    name = f"{len(world.mails()) + 1:04}.eml"
    (world.mailbox / name).write_text(mail.as_string(), encoding="utf-8")
    change.witness(before, _headers_of_mails_to(world, to))
    return {"file": name}


def find_mail(world: World, given: Arguments) -> Result:
    """Return the mails to somebody that lie in the mailbox."""
    _reads("mail", f"mail/{given['to']}")
    return {"mails": _headers_of_mails_to(world, str(given["to"]))}


def change_address(world: World, given: Arguments) -> Result:
    """Change where an order goes to, as long as it is not on its way."""
    order_id = str(given["order_id"])
    effect("write", destination="shop.sqlite", resource=f"orders/{order_id}", operation="change_address")
    (before,) = world.rows("orders", id=order_id)
    if before["status"] != "packed":
        refusal(f"the order is {before['status']}", by="shipping policy 1")
        return {"refused": f"shipping policy 1: the order is {before['status']}"}
    with world.connected() as shop:
        shop.execute("UPDATE orders SET address = ? WHERE id = ?", (given["address"], order_id))
    (after,) = world.rows("orders", id=order_id)
    receipt(
        "verified" if after["address"] == given["address"] else "failed",
        observer="SELECT on shop.sqlite",
        observed=after,
        pre_state=str(before["address"]),
        post_state=str(after["address"]),
    )
    return dict(after)


def request_approval(world: World, given: Arguments) -> Result:
    """Ask somebody who may decide it for a refund that is too large to be made without asking."""
    order_id = str(given["order_id"])
    change = _Change("shop.sqlite", f"approvals/{order_id}", "request", None)
    change.declare()
    before = world.rows("approvals", order_id=order_id)
    with world.connected() as shop:
        shop.execute(
            "INSERT INTO approvals VALUES (?, ?, ?, ?, 'open')",
            (order_id.replace("ORD", "APP"), order_id, given["amount_cents"], given["approver"]),
        )
    change.witness(before, world.rows("approvals", order_id=order_id))
    return {"approval": order_id.replace("ORD", "APP"), "state": "open"}


TOOLS: Final[Mapping[str, Tool]] = {
    tool.__name__: tool
    for tool in (
        lookup_order,
        issue_refund,
        find_refunds,
        issue_voucher,
        find_vouchers,
        send_mail,
        find_mail,
        change_address,
        request_approval,
    )
}


class _Change:
    """The change that a call intends, named the same way in its effect and in every receipt for it."""

    def __init__(self, destination: str, resource: str, operation: str, key: str | None) -> None:
        self.destination = destination
        self.resource = resource
        self.operation = operation
        self.key = key

    def declare(self) -> None:
        effect(
            "write",
            destination=self.destination,
            resource=self.resource,
            operation=self.operation,
            idempotency_key=self.key,
        )

    def witness(self, before: list[Row], after: list[Row]) -> None:
        """Leave a receipt for each thing that stands at the destination now.

        What stood there before is no work of this call: its receipt says that nothing changed, and so counts for an
        earlier attempt.
        """
        if not after:
            receipt("failed", observer=f"read of {self.destination}", observed="nothing there")
        for row in after:
            found = f"{len(before)} there"
            self.seen(row, pre_state=found, post_state=found if row in before else f"{len(after)} there")

    def seen(self, row: Row, *, pre_state: str | None = None, post_state: str | None = None) -> None:
        receipt(
            "verified",
            observer=f"read of {self.destination}",
            observed=row,
            pre_state=pre_state,
            post_state=post_state,
            destination=self.destination,
            resource=self.resource,
            operation=self.operation,
            idempotency_key=self.key,
        )


def _reads(destination: str, resource: str) -> None:
    effect("read", destination=destination, resource=resource, operation="read")


def _headers_of_mails_to(world: World, to: str) -> list[Row]:
    found: list[Row] = []
    for name, text in world.mails().items():
        mail = message_from_string(text)
        if mail["To"] == to:
            found.append({"file": name, "to": str(mail["To"]), "subject": str(mail["Subject"])})
    return found


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"an amount is a whole number of cents, not {value!r}")
    return value
