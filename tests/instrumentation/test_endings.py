"""However a process ends, what it recorded arrives, its exit code stays, and nobody waits longer than is said."""

import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from spanproof_instrumentation import semconv
from spanproof_instrumentation.settings import DEFAULT_EXIT_SECONDS, MOST_EXIT_SECONDS
from tests.instrumentation.sink import Sink, agent_command, clean_environment, run_agent, texts

TRACER = """
import os, signal, sys, threading, time
from opentelemetry import trace
tracer = trace.get_tracer("library")
"""
ONE = TRACER + 'tracer.start_span("one").end()\n'
OPEN = TRACER + 'outer = tracer.start_span("outer")\ntracer.start_span("inner", trace.set_span_in_context(outer))\n'
WAIT = 'print("waiting", flush=True)\nsys.stdin.read()\n'
DOWN = "http://127.0.0.1:9"
BUSY_MACHINE = 4.0


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); os.kill(os.getpid(), signal.SIGTERM)", 5),
        ("signal.signal(signal.SIGTERM, lambda *_: os._exit(6)); os.kill(os.getpid(), signal.SIGTERM)", 6),
        # A process in the background may have been started with SIGINT ignored.
        ("signal.signal(signal.SIGINT, signal.default_int_handler); os.kill(os.getpid(), signal.SIGINT)", -2),
        ("os.execv(sys.executable, [sys.executable, '-c', 'raise SystemExit(7)'])", 7),
        ("os.execlp(sys.executable, sys.executable, '-c', 'raise SystemExit(8)')", 8),
        ("threading.Thread(target=lambda: os._exit(9)).start(); time.sleep(60)", 9),
        ("import asyncio; asyncio.run(asyncio.sleep(0)); sys.exit(10)", 10),
    ],
)
def test_what_was_recorded_arrives_and_the_exit_code_stays(http_sink: Sink, how: str, code: int) -> None:
    done = run_agent(ONE + how, http_sink.address)
    assert done.returncode == code
    assert "spanproof" not in done.stderr
    assert http_sink.names() == ["one"]


@pytest.mark.parametrize(
    ("how", "why"),
    [("", "exit"), ("os._exit(0)", "os._exit"), ("os.kill(os.getpid(), signal.SIGTERM)", "sigterm")],
)
def test_a_span_that_is_open_at_the_end_is_ended_and_says_so(http_sink: Sink, how: str, why: str) -> None:
    run_agent(OPEN + how, http_sink.address)
    inner, outer = http_sink.span("inner"), http_sink.span("outer")
    for span in (inner, outer):
        assert texts(span.attributes)[semconv.UNFINISHED] == why
        assert span.status.code == span.status.STATUS_CODE_UNSET
    assert inner.end_time_unix_nano <= outer.end_time_unix_nano


def test_sigterm_ends_a_program_that_waits_as_it_would_have(http_sink: Sink) -> None:
    command = agent_command(ONE + WAIT, http_sink.address)
    with subprocess.Popen(
        command,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (-signal.SIGTERM, "")
    assert http_sink.names() == ["one"]


@pytest.mark.parametrize("disposition", ["SIG_IGN", "default_int_handler"])
def test_a_disposition_of_sigterm_that_the_agent_chose_is_not_touched(http_sink: Sink, disposition: str) -> None:
    program = f"""
    import os, signal, subprocess, sys
    signal.signal(signal.SIGTERM, signal.{disposition})
    from spanproof_instrumentation import configure
    configure(endpoint={http_sink.address!r})
    print(signal.getsignal(signal.SIGTERM) is signal.{disposition} or signal.getsignal(signal.SIGTERM).name)
    """
    assert run_agent(program, http_sink.address).stdout in ("True\n", f"{disposition}\n")


FORKS = [
    """
    pid = os.fork()
    if pid == 0:
        tracer.start_span("child").end()
        os._exit(0)
    os.waitpid(pid, 0)
    """,
    """
    import multiprocessing
    def work():
        tracer.start_span("child").end()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start(); process.join(); assert process.exitcode == 0
    """,
    """
    from concurrent.futures import ProcessPoolExecutor
    import multiprocessing
    def work():
        tracer.start_span("child").end()
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(work).result()
    """,
]


@pytest.mark.parametrize("fork", FORKS)
def test_a_forked_child_sends_what_it_recorded_itself_and_nothing_twice(http_sink: Sink, fork: str) -> None:
    done = run_agent(ONE + textwrap.dedent(fork), http_sink.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.names() == ["child", "one"]


def test_a_forked_child_leaves_what_is_open_to_its_parent(http_sink: Sink) -> None:
    program = """
    import os
    from opentelemetry import trace
    with trace.get_tracer("library").start_as_current_span("parent"):
        pid = os.fork()
        if pid == 0:
            trace.get_tracer("library").start_span("child").end()
            os._exit(0)
        os.waitpid(pid, 0)
    """
    assert run_agent(program, http_sink.address).stderr == ""
    parent, child = http_sink.span("parent"), http_sink.span("child")
    assert semconv.UNFINISHED not in texts(parent.attributes)
    assert child.parent_span_id == parent.span_id


SPAWNED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from opentelemetry import trace

def work():
    trace.get_tracer("library").start_span("child").end()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with trace.get_tracer("library").start_as_current_span("parent"):
        process = context.Process(target=work)
        process.start()
        process.join()
        assert process.exitcode == 0
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(work).result()
"""


def test_spawned_children_and_process_pools_are_reached_and_are_children_of_the_span(
    http_sink: Sink, tmp_path: Path
) -> None:
    Path(tmp_path, "spawned.py").write_text(SPAWNED, encoding="utf-8")
    direct = subprocess.run(
        [*agent_command("", http_sink.address, "--task", "t")[:-2], "-W", "error", str(tmp_path / "spawned.py")],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (direct.returncode, direct.stderr) == (0, "")
    parent = http_sink.span("parent")
    children = [span for span in http_sink.spans() if span.name == "child"]
    assert [child.parent_span_id for child in children] == [parent.span_id, parent.span_id]
    assert {texts(child.attributes)[semconv.TASK_ID] for child in children} == {"t"}


def ending(program: str, address: str, *options: str) -> tuple[float, int, str]:
    """Run a program; return how long its end took from its last line, its exit code and what was told."""
    command = agent_command(program + 'print("last line", flush=True)\nsys.exit(3)\n', address, *options)
    with subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "last line\n"
        began = time.monotonic()
        _, told = process.communicate(timeout=60)
        return time.monotonic() - began, process.returncode, told


def test_with_no_collector_the_end_comes_within_the_bound_and_the_loss_is_told() -> None:
    seconds, code, told = ending(ONE, DOWN)
    assert code == 3
    assert told == "spanproof: 1 span was lost: 1 because the collector was silent for 2s at the end\n"
    assert seconds < DEFAULT_EXIT_SECONDS + BUSY_MACHINE


def test_a_collector_that_never_answers_is_waited_for_no_longer(http_sink: Sink) -> None:
    http_sink.released.clear()
    seconds, _, told = ending(ONE, http_sink.address, "--exit-seconds", "0.5")
    assert "1 span was lost" in told
    assert seconds < 0.5 + BUSY_MACHINE


def test_a_provider_of_the_agents_that_shuts_down_too_does_not_wait_a_second_time() -> None:
    program = """
    import time
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    trace.get_tracer("library").start_span("one").end()
    began = time.monotonic()
    provider.shutdown()
    once = time.monotonic()
    provider.force_flush(500)
    import atexit
    from spanproof_instrumentation import provider as ours
    ours._export.ending.finish("exit")
    print(once - began > 0.9, time.monotonic() - once < 0.9)
    """
    done = run_agent(program, DOWN, "--exit-seconds", "1")
    assert done.stdout == "True True\n"


def test_loss_is_counted_by_its_reason(http_sink: Sink) -> None:
    http_sink.status = 400
    program = """
    from opentelemetry import trace
    from spanproof_instrumentation import flush
    tracer = trace.get_tracer("library")
    for _ in range(5):
        tracer.start_span("refused").end()
    print(flush(20))
    """
    done = run_agent(program, http_sink.address)
    assert done.stdout == "False\n"
    assert done.stderr == "spanproof: 5 spans were lost: 5 because the collector did not take them\n"


def test_a_full_queue_blocks_nobody_and_is_counted(http_sink: Sink) -> None:
    http_sink.released.clear()
    program = """
    import time
    from opentelemetry import trace
    tracer = trace.get_tracer("library")
    began = time.monotonic()
    for _ in range(100):
        tracer.start_span("x").end()
    print(time.monotonic() - began < 5)
    """
    small = {
        "OTEL_BSP_MAX_QUEUE_SIZE": "10",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10",
        "OTEL_BSP_SCHEDULE_DELAY": "60000",
    }
    done = run_agent(program, http_sink.address, "--exit-seconds", "0.3", environment=small)
    assert done.stdout == "True\n"
    assert "100 spans were lost" in done.stderr
    assert "because the queue was full" in done.stderr


def test_a_collector_that_takes_one_batch_after_the_other_is_waited_for_longer(http_sink: Sink) -> None:
    program = "".join(f'tracer.start_span("s{number}").end()\n' for number in range(6))
    one_each = {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1", "OTEL_BSP_MAX_QUEUE_SIZE": "100"}
    http_sink.delay = 0.3
    done = run_agent(TRACER + program, http_sink.address, "--exit-seconds", "1", environment=one_each)
    assert done.stderr == ""
    assert len(http_sink.names()) == 6
    assert MOST_EXIT_SECONDS > 6 * http_sink.delay > 1


def test_nothing_is_said_on_the_agents_own_log_or_output() -> None:
    program = "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=logging.DEBUG)\n" + ONE
    done = run_agent(program, DOWN, "--exit-seconds", "0.3")
    assert "spanproof" not in done.stdout
    assert "export" not in done.stdout.lower()
    assert done.stderr.startswith("spanproof: 1 span was lost")


def test_children_that_are_killed_by_their_parent_send_what_they_have(http_sink: Sink) -> None:
    program = f"""
    import os, signal, subprocess, sys
    child = subprocess.Popen([sys.executable, "-c", {ONE + WAIT!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    child.terminate()
    child.communicate()
    sys.exit(-child.returncode)
    """
    done = run_agent(program, http_sink.address)
    assert (done.returncode, done.stderr) == (15, "")
    assert http_sink.names() == ["one"]
