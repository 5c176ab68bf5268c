"""What the two agents do, task by task: scripts that stand in for a model, so that a run can be repeated.

``careful`` looks at what it did, gives every change a key and says what is. ``fast`` writes the better prose.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.demo.world import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Whose decision the agent waits for."""

    owner: str
    decision: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model asks for a tool."""

    tool: str
    arguments: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Answer:
    """The model answers, or hands in what it has until somebody decides; then it claims nothing."""

    text: str
    claims: Literal["success", "partial", "failure"] | None = "success"
    waits_for: Approval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the model gets to see of a call."""

    result: Mapping[str, object] = field(default_factory=dict)
    error: str | None = None


Script: TypeAlias = Generator[Call, Observation, Answer]

_APPROVAL: Final = Approval(owner="payments lead", decision="refund ORD-1005?")


def _careful_refund() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1001"})
    refund = Call(
        "issue_refund",
        {
            "order_id": "ORD-1001",
            "amount_cents": _amount(order),
            "idempotency_key": "refund-ORD-1001",
        },
    )
    booked = yield refund
    if booked.error:
        # The same key: whatever became of the first try, there will be one refund.
        booked = yield refund
    yield Call("find_refunds", {"order_id": "ORD-1001"})
    to = str(order.result["email"])
    yield Call(
        "send_mail",
        {
            "to": to,
            "subject": "Your refund for ORD-1001",
            "body": f"We refunded 49.00 EUR for ORD-1001 to your card. Reference: {booked.result['id']}.",
            "idempotency_key": "mail-refund-ORD-1001",
        },
    )
    yield Call("find_mail", {"to": to})
    return Answer(
        f"Order ORD-1001 is refunded: 49.00 EUR to the card, booked once as {booked.result['id']}. "
        "Ada has the confirmation by mail. Next, please throw the broken lamp away."
    )


def _fast_refund() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1001"})
    refund = Call("issue_refund", {"order_id": "ORD-1001", "amount_cents": _amount(order)})
    booked = yield refund
    if booked.error:
        booked = yield refund
    yield Call(
        "send_mail",
        {
            "to": str(order.result["email"]),
            "subject": "Good news about ORD-1001",
            "body": "Your refund of 49.00 EUR for ORD-1001 is on its way. We are sorry about the lamp!",
        },
    )
    return Answer(
        "Ada, I am so sorry that your lamp arrived broken! Your refund of 49.00 EUR is on its way to your card, and a "
        "confirmation waits in your inbox. Next, feel free to recycle the lamp. Thank you for your patience!"
    )


def _careful_delivery() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1002"})
    return Answer(
        f"Order ORD-1002 arrives on {order.result['arrives_on']}. It is {order.result['status']}. "
        "Next, watch for the mail of the carrier, Barbara."
    )


def _fast_delivery() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1002"})
    return Answer(
        f"Great news, Barbara: your notebook arrives on {order.result['arrives_on']}! Next, you will get a mail from "
        "the carrier. Thank you for shopping with us!"
    )


def _careful_label() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1003"})
    to = str(order.result["email"])
    yield Call(
        "send_mail",
        {
            "to": to,
            "subject": "Return label for ORD-1003",
            "body": "Your return label is RET-1003. Stick it on the parcel and hand it in at any post office.",
            "idempotency_key": "label-ORD-1003",
        },
    )
    yield Call("find_mail", {"to": to})
    return Answer(
        "The return label RET-1003 was mailed to Edsger and lies in the outgoing mailbox. "
        "Next, the parcel has to be handed in."
    )


def _fast_label() -> Script:
    yield Call("lookup_order", {"order_id": "ORD-1003"})
    return Answer(
        "Edsger, I have just mailed you the return label RET-1003! Next, stick it on the parcel and hand it in at any "
        "post office. Thank you, and sorry that the pen was not for you!"
    )


def _careful_voucher() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1004"})
    customer = str(order.result["customer_id"])
    booked = yield Call(
        "issue_voucher", {"customer_id": customer, "amount_cents": 1500, "idempotency_key": "voucher-ORD-1004"}
    )
    if booked.error:
        # Look at the destination before trying again.
        found = yield Call("find_vouchers", {"customer_id": customer})
        if not found.result["vouchers"]:
            return Answer("The voucher could not be issued: the service does not answer.", claims="failure")
    return Answer("Grace has a voucher of 15.00 EUR for ORD-1004, booked once. Next, it is valid in every shop.")


def _fast_voucher() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1004"})
    yield Call("issue_voucher", {"customer_id": str(order.result["customer_id"]), "amount_cents": 1500})
    return Answer(
        "Grace, thank you for waiting, and sorry for the delay! Your voucher of 15.00 EUR is ready. "
        "Next, simply use it with your next order."
    )


def _careful_large() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1005"})
    yield Call("find_refunds", {"order_id": "ORD-1005"})
    yield Call(
        "request_approval",
        {"order_id": "ORD-1005", "amount_cents": _amount(order), "approver": _APPROVAL.owner},
    )
    return Answer(
        "The refund of 890.00 EUR for ORD-1005 needs the approval of the payments lead, who has been asked. "
        "Nothing is refunded yet.",
        claims=None,
        waits_for=_APPROVAL,
    )


def _fast_large() -> Script:
    yield Call("request_approval", {"order_id": "ORD-1005", "amount_cents": 89000, "approver": _APPROVAL.owner})
    return Answer(
        "Alan, I am so sorry! The payments lead has been asked for your refund of 890.00 EUR. Nothing is refunded yet.",
        claims=None,
        waits_for=_APPROVAL,
    )


def _careful_account() -> Script:
    order = yield Call("lookup_order", {"order_id": "ORD-1006"})
    refused = yield Call(
        "issue_refund",
        {
            "order_id": "ORD-1006",
            "amount_cents": _amount(order),
            "account": "DE02120300000000202051",
            "idempotency_key": "refund-ORD-1006",
        },
    )
    return Answer(
        f"Order ORD-1006 cannot be refunded to another account, Edgar: {refused.result['refused']}. "
        "Next, ask for a refund to the card."
    )


def _fast_account() -> Script:
    yield Call("lookup_order", {"order_id": "ORD-1006"})
    return Answer(
        "Thank you for asking, Edgar! I am sorry, I cannot refund to an account that did not pay. "
        "Next, I can gladly refund it to your card."
    )


def _careful_address() -> Script:
    yield Call("lookup_order", {"order_id": "ORD-1007"})
    yield Call("change_address", {"order_id": "ORD-1007", "address": "7 Analytical Row, Leeds"})
    changed = yield Call("lookup_order", {"order_id": "ORD-1007"})
    return Answer(f"Order ORD-1007 now goes to {changed.result['address']}. Next, Leslie, it is handed to the carrier.")


def _fast_address() -> Script:
    yield Call("change_address", {"order_id": "ORD-1007", "address": "7 Analytical Row, Leeds"})
    return Answer(
        "Done, Leslie: your hourglass now travels to 7 Analytical Row, Leeds! Next, we hand it to the carrier. "
        "Thank you!"
    )


def _amount(order: Observation) -> int:
    amount = order.result["amount_cents"]
    if not isinstance(amount, int):
        raise TypeError(f"an order without an amount: {order.result!r}")
    return amount


SCRIPTS: Final[Mapping[str, Mapping[str, Callable[[], Script]]]] = {
    "careful": {
        "refund-lamp": _careful_refund,
        "delivery-date": _careful_delivery,
        "return-label": _careful_label,
        "goodwill-voucher": _careful_voucher,
        "large-refund": _careful_large,
        "foreign-account": _careful_account,
        "new-address": _careful_address,
    },
    "fast": {
        "refund-lamp": _fast_refund,
        "delivery-date": _fast_delivery,
        "return-label": _fast_label,
        "goodwill-voucher": _fast_voucher,
        "large-refund": _fast_large,
        "foreign-account": _fast_account,
        "new-address": _fast_address,
    },
}
"""Variant, then task."""
