"""Labels and the current span go along into threads, pools and child processes."""

from textwrap import dedent

import pytest

from spanproof_instrumentation import semconv
from tests.instrumentation.sink import Sink, run_agent, texts

START = """
import asyncio, os, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
from opentelemetry import trace
from spanproof_instrumentation import labels
tracer = trace.get_tracer("library")
def work(*_):
    tracer.start_span("inside").end()
WARM = ThreadPoolExecutor(1)
WARM.submit(int).result()  # its thread is older than the span
CHILD = "from opentelemetry import trace; trace.get_tracer('library').start_span('inside').end()"
"""
WAYS = [
    "thread = threading.Thread(target=work); thread.start(); thread.join()",
    "thread = threading.Timer(0, work); thread.start(); thread.join()",
    "class Own(threading.Thread):\n    def run(self):\n        work()\nthread = Own(); thread.start(); thread.join()",
    "with ThreadPoolExecutor(1) as pool: pool.submit(work).result()",
    "with ThreadPoolExecutor(1) as pool: list(pool.map(work, [1]))",
    "WARM.submit(work).result()",
    "async def main():\n    await asyncio.to_thread(work)\nasyncio.run(main())",
    "async def main():\n    await asyncio.get_running_loop().run_in_executor(None, work)\nasyncio.run(main())",
    "async def one():\n    work()\nasync def main():\n    await asyncio.create_task(one())\nasyncio.run(main())",
    "subprocess.run([sys.executable, '-c', CHILD], check=True)",
    "subprocess.run([sys.executable, '-c', CHILD], check=True, env=dict(os.environ))",
    "subprocess.run([sys.executable, '-c', CHILD], check=True, env={**os.environ, 'MORE': '1'})",
    "subprocess.check_output([sys.executable, '-c', CHILD])",
]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_a_child_of_the_current_span_with_its_labels(http_sink: Sink, way: str) -> None:
    inside = "\n".join(f"    {line}" for line in way.splitlines())
    program = f"{START}with labels(task='t'), tracer.start_as_current_span('outside'):\n{inside}\n"
    done = run_agent(program, http_sink.address, "--suite", "s")
    assert (done.returncode, done.stderr) == (0, "")
    outside, within = http_sink.span("outside"), http_sink.span("inside")
    assert within.parent_span_id == outside.span_id
    assert texts(within.attributes)[semconv.TASK_ID] == "t"
    assert texts(within.attributes)[semconv.SUITE] == "s"


def test_an_environment_that_was_made_on_purpose_is_not_added_to(http_sink: Sink) -> None:
    program = """
    import os, subprocess, sys
    from spanproof_instrumentation import labels
    with labels(task="t"):
        child = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}))"
        subprocess.run([sys.executable, "-c", child], env={"ONLY": "1"}, check=True)
    """
    done = run_agent(dedent(program), http_sink.address, "--suite", "s")
    assert done.stdout == "['ONLY']\n"


def test_outside_of_any_span_and_label_a_childs_environment_is_as_it_was(http_sink: Sink) -> None:
    program = """
    import os, subprocess, sys
    child = "import os; print(os.environ.get('TRACEPARENT'), os.environ.get('BAGGAGE'))"
    out = subprocess.check_output([sys.executable, "-c", child])
    print(out.decode(), end="")
    """
    assert run_agent(dedent(program), http_sink.address).stdout == "None None\n"


@pytest.mark.parametrize("raised", ["ValueError('own')", "SystemExit(3)"])
def test_what_a_thread_or_pool_raises_is_unchanged(http_sink: Sink, raised: str) -> None:
    program = f"""
    from concurrent.futures import ThreadPoolExecutor
    from spanproof_instrumentation import labels
    error = {raised}
    def fail():
        raise error
    with labels(task="t"), ThreadPoolExecutor(1) as pool:
        print(pool.submit(fail).exception() is error)
    """
    assert run_agent(dedent(program), http_sink.address).stdout == "True\n"


def test_a_started_thread_cannot_be_started_again_and_says_so_as_before(http_sink: Sink) -> None:
    program = """
    import threading
    from spanproof_instrumentation import labels
    with labels(task="t"):
        thread = threading.Thread(target=print)
        thread.start()
        try:
            thread.start()
        except RuntimeError as error:
            print(error)
    """
    assert "threads can only be started once" in run_agent(dedent(program), http_sink.address).stdout


def test_a_forked_child_can_fork_itself(http_sink: Sink) -> None:
    program = """
    import multiprocessing
    from opentelemetry import trace
    context = multiprocessing.get_context("fork")
    def deepest():
        trace.get_tracer("library").start_span("inside").end()
    def child():
        process = context.Process(target=deepest)
        process.start()
        process.join(20)
        raise SystemExit(process.exitcode)
    process = context.Process(target=child)
    process.start()
    process.join(30)
    print(process.exitcode)
    """
    assert run_agent(dedent(program), http_sink.address).stdout == "0\n"
    assert http_sink.names() == ["inside"]
