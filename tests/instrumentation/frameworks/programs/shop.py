"""The shop that the agents of these programs work for: two tools, and what a program is asked to do."""

import json
import os
import time

SYSTEM = "You refund orders. Look an order up before you refund it."


def asked() -> tuple[str, str]:
    """Return the task and the model's name."""
    return os.environ["TASK"], os.environ["MODEL"]


def lookup_order(order_id: str) -> dict[str, object]:
    """Look up an order."""
    return {"order_id": order_id, "status": "delivered", "amount_cents": 4250}


def issue_refund(order_id: str, amount_cents: int) -> dict[str, object]:
    """Refund an order."""
    if os.environ.get("SHOP_FAULT") == "timeout":
        raise TimeoutError("the payment service timed out; whether the refund was made is not known")
    if os.environ.get("SHOP_FAULT") == "hangs":
        print("waiting", flush=True)
        time.sleep(60)
    return {"order_id": order_id, "refund_id": f"RF-{order_id}", "amount_cents": amount_cents}


TOOLS = {"lookup_order": lookup_order, "issue_refund": issue_refund}

PARAMETERS: dict[str, dict[str, object]] = {
    "lookup_order": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
    "issue_refund": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer"}},
        "required": ["order_id", "amount_cents"],
    },
}


def use(name: str, arguments: dict[str, object]) -> tuple[str, bool]:
    """Run a tool as a loop of one's own does; return what the model is told and whether it is an error."""
    try:
        return json.dumps(TOOLS[name](**arguments)), False  # type: ignore[operator]
    except TimeoutError as error:
        return f"TimeoutError: {error}", True
