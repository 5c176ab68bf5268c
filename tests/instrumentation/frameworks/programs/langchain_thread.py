"""LangChain's agent, two jobs in one thread."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from shop import SYSTEM, asked, issue_refund, lookup_order


def main():
    task, model = asked()
    agent = create_agent(
        ChatOpenAI(model=model),
        [lookup_order, issue_refund],
        system_prompt=SYSTEM,
        checkpointer=InMemorySaver(),
        name="refunds",
    )
    config = {"configurable": {"thread_id": f"thread of {task}"}}
    for words in (task, "Thank you."):
        print(agent.invoke({"messages": [("user", words)]}, config)["messages"][-1].text)


if __name__ == "__main__":
    main()
