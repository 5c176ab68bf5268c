"""The OpenAI SDK's Responses API in a loop of one's own."""

import json

from openai import OpenAI
from shop import PARAMETERS, SYSTEM, asked, use

TOOLS = [{"type": "function", "name": name, "parameters": PARAMETERS[name]} for name in PARAMETERS]


def work(task, model):
    client = OpenAI()
    items = [{"role": "user", "content": task}]
    while True:
        response = client.responses.create(model=model, instructions=SYSTEM, input=items, tools=TOOLS)
        items += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            told, _ = use(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": told})


if __name__ == "__main__":
    print(work(*asked()))
