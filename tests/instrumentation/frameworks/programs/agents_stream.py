"""The OpenAI Agents SDK, streaming."""

import asyncio

from agents import Runner
from agents_sdk import agent
from shop import asked


async def work_async(task, model):
    run = Runner.run_streamed(agent(model), task)
    async for _ in run.stream_events():
        pass
    return run.final_output


def work(task, model):
    return asyncio.run(work_async(task, model))


if __name__ == "__main__":
    print(work(*asked()))
