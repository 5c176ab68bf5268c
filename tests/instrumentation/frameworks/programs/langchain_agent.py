"""LangChain's agent on a chat model of OpenAI's."""

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from shop import SYSTEM, asked, issue_refund, lookup_order


@wrap_tool_call
def tell_errors(request, handler):
    try:
        return handler(request)
    except TimeoutError as error:
        return ToolMessage(f"TimeoutError: {error}", tool_call_id=request.tool_call["id"], status="error")


def agent(model):
    return create_agent(
        ChatOpenAI(model=model),
        [lookup_order, issue_refund],
        system_prompt=SYSTEM,
        middleware=[tell_errors],
        name="refunds",
    )


def work(task, model):
    return agent(model).invoke({"messages": [("user", task)]})["messages"][-1].text


if __name__ == "__main__":
    print(work(*asked()))
