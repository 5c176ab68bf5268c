"""The Anthropic SDK's own tool runner."""

import json

from anthropic import Anthropic, beta_tool
from shop import SYSTEM, asked
from shop import issue_refund as refund
from shop import lookup_order as look_up


@beta_tool
def lookup_order(order_id: str) -> str:
    """Look up an order."""
    return json.dumps(look_up(order_id))


@beta_tool
def issue_refund(order_id: str, amount_cents: int) -> str:
    """Refund an order."""
    return json.dumps(refund(order_id, amount_cents))


def work(task, model):
    runner = Anthropic().beta.messages.tool_runner(
        model=model,
        max_tokens=500,
        system=SYSTEM,
        messages=[{"role": "user", "content": task}],
        tools=[lookup_order, issue_refund],
    )
    return runner.until_done().content[0].text


if __name__ == "__main__":
    print(work(*asked()))
