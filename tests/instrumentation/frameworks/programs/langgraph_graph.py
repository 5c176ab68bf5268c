"""A graph of one's own in LangGraph."""

from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from shop import SYSTEM, asked, issue_refund, lookup_order


def graph(model):
    tools = [lookup_order, issue_refund]
    chat = ChatOpenAI(model=model).bind_tools(tools)

    def think(state):
        return {"messages": [chat.invoke([SystemMessage(SYSTEM), *state["messages"]])]}

    building = StateGraph(MessagesState)
    building.add_node("think", think)
    building.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    building.add_edge(START, "think")
    building.add_conditional_edges("think", tools_condition)
    building.add_edge("tools", "think")
    return building.compile(name="refunds")


def work(task, model):
    return graph(model).invoke({"messages": [("user", task)]})["messages"][-1].text


if __name__ == "__main__":
    print(work(*asked()))
