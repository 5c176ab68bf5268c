"""The asynchronous OpenAI SDK in a loop of one's own, with the tools of one turn side by side."""

import asyncio
import json

from openai import AsyncOpenAI
from openai_loop import TOOLS
from shop import SYSTEM, asked, use


async def answered(call):
    told, _ = await asyncio.to_thread(use, call.function.name, json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": told}


async def work_async(task, model):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    async with AsyncOpenAI() as client:
        while True:
            answer = await client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            messages += await asyncio.gather(*map(answered, message.tool_calls))


def work(task, model):
    return asyncio.run(work_async(task, model))


if __name__ == "__main__":
    print(work(*asked()))
