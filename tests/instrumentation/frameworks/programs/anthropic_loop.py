"""The Anthropic SDK in a loop of one's own."""

from anthropic import Anthropic
from shop import PARAMETERS, SYSTEM, asked, use

TOOLS = [{"name": name, "input_schema": PARAMETERS[name]} for name in PARAMETERS]


def answered(blocks):
    results = []
    for block in blocks:
        if block.type == "tool_use":
            told, failed = use(block.name, block.input)
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": told, "is_error": failed})
    return results


def work(task, model):
    client = Anthropic()
    messages = [{"role": "user", "content": task}]
    while True:
        message = client.messages.create(model=model, max_tokens=500, system=SYSTEM, messages=messages, tools=TOOLS)
        messages.append({"role": "assistant", "content": message.content})
        results = answered(message.content)
        if not results:
            return message.content[0].text
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    print(work(*asked()))
