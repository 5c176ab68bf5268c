"""Pydantic AI on a chat model of OpenAI's."""

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from shop import SYSTEM, asked, lookup_order
from shop import issue_refund as refund


def issue_refund(order_id: str, amount_cents: int) -> dict[str, object]:
    """Refund an order."""
    try:
        return refund(order_id, amount_cents)
    except TimeoutError as error:
        raise ModelRetry(str(error)) from error


def agent(model):
    return Agent(OpenAIChatModel(model), name="refunds", instructions=SYSTEM, tools=[lookup_order, issue_refund])


def work(task, model):
    return agent(model).run_sync(task).output


if __name__ == "__main__":
    print(work(*asked()))
