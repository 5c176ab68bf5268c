"""LangChain's agent, streaming tokens."""

from langchain_agent import agent
from shop import asked


def work(task, model):
    words = ""
    for part, about in agent(model).stream({"messages": [("user", task)]}, stream_mode="messages"):
        if about["langgraph_node"] == "model":
            words += part.text
    return words


if __name__ == "__main__":
    print(work(*asked()))
