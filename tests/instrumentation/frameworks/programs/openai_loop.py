"""The OpenAI SDK in a loop of one's own."""

import json

from openai import OpenAI
from shop import PARAMETERS, SYSTEM, asked, use

TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS[name]}} for name in PARAMETERS]


def work(task, model):
    client = OpenAI()
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    while True:
        answer = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
        message = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            told, _ = use(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})


if __name__ == "__main__":
    print(work(*asked()))
