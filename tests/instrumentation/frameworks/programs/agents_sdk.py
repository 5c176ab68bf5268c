"""The OpenAI Agents SDK."""

import os

from agents import Agent, Runner, function_tool, set_default_openai_key
from shop import SYSTEM, asked, issue_refund, lookup_order

# so that the SDK's own tracing does not send to OpenAI
set_default_openai_key(os.environ["MODEL_KEY"], use_for_tracing=False)


def agent(model):
    return Agent(
        name="refunds",
        instructions=SYSTEM,
        model=model,
        tools=[function_tool(lookup_order, strict_mode=False), function_tool(issue_refund, strict_mode=False)],
    )


def work(task, model):
    return Runner.run_sync(agent(model), task).final_output


if __name__ == "__main__":
    print(work(*asked()))
