"""Two jobs side by side. Arguments: how, and the agent."""

import asyncio
import importlib
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

from shop import asked


def job(program, task, model):
    print(importlib.import_module(program).work(task, model), flush=True)


def by_fork(jobs):
    children = []
    for one in jobs:
        child = os.fork()
        if child == 0:
            job(*one)
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def by_multiprocessing(jobs, method):
    processes = [multiprocessing.get_context(method).Process(target=job, args=one) for one in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def by_subprocess(jobs):
    children = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / f"{program}.py")],
            env={**os.environ, "TASK": task, "MODEL": model},
        )
        for program, task, model in jobs
    ]
    assert [child.wait() for child in children] == [0, 0]


def by_threads(jobs):
    threads = [threading.Thread(target=job, args=one) for one in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def by_tasks(jobs):
    works = [importlib.import_module(program).work_async(task, model) for program, task, model in jobs]
    for said in await asyncio.gather(*works):
        print(said)


def main():
    how, program = sys.argv[1:]
    task, model = asked()
    if how not in ("spawn", "subprocess"):
        importlib.import_module(program)
    jobs = [(program, task.replace("ORD-", f"ORD-{which}"), model) for which in "AB"]
    match how:
        case "fork":
            by_fork(jobs)
        case "multiprocessing_fork":
            by_multiprocessing(jobs, "fork")
        case "spawn":
            by_multiprocessing(jobs, "spawn")
        case "subprocess":
            by_subprocess(jobs)
        case "threads":
            by_threads(jobs)
        case "tasks":
            asyncio.run(by_tasks(jobs))


if __name__ == "__main__":
    main()
