"""The OpenAI SDK in a loop of one's own, streaming."""

import json

from openai import OpenAI
from openai_loop import TOOLS
from shop import SYSTEM, asked, use


def work(task, model):
    client = OpenAI()
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    while True:
        stream = client.chat.completions.create(
            model=model, messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
        )
        words, calls = "", {}
        for chunk in stream:
            for choice in chunk.choices:
                words += choice.delta.content or ""
                for piece in choice.delta.tool_calls or ():
                    call = calls.setdefault(piece.index, {"id": piece.id, "name": piece.function.name, "arguments": ""})
                    call["arguments"] += piece.function.arguments or ""
        if not calls:
            return words
        functions = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls.values()
        ]
        messages.append({"role": "assistant", "tool_calls": functions})
        for call in calls.values():
            told, _ = use(call["name"], json.loads(call["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})


if __name__ == "__main__":
    print(work(*asked()))
