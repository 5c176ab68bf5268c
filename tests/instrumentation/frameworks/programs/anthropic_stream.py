"""The Anthropic SDK in a loop of one's own, streaming."""

from anthropic import Anthropic
from anthropic_loop import TOOLS, answered
from shop import SYSTEM, asked


def work(task, model):
    client = Anthropic()
    messages = [{"role": "user", "content": task}]
    while True:
        asking = {"model": model, "max_tokens": 500, "system": SYSTEM, "messages": messages, "tools": TOOLS}
        with client.messages.stream(**asking) as stream:
            message = stream.get_final_message()
        messages.append({"role": "assistant", "content": message.content})
        results = answered(message.content)
        if not results:
            return message.content[0].text
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    print(work(*asked()))
