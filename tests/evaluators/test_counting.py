"""spanproof doctor -- CMD: spans that are started against spans that arrive."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.server.test_logs import Server, serving
from tests.evaluators.test_doctor import Examined, _at, _nothing_in_the_environment

__all__ = ["_nothing_in_the_environment"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server without tokens."""
    with serving(tmp_path_factory.mktemp("counting")) as running:
        yield running


def _counted(server: Server, capsys: pytest.CaptureFixture[str], folder: Path, program: str, *options: str) -> Examined:
    (folder / "agent.py").write_text(program)
    at = [*_at(server), "--store", server.addresses.store, *options]
    return Examined(capsys, *at, "--", sys.executable, str(folder / "agent.py"))


_WHOLE = """
import os, sys
from opentelemetry import trace
tracer = trace.get_tracer("agent")
with tracer.start_as_current_span("run"):
    for number in range(3):
        with tracer.start_as_current_span(f"step {number}"):
            pass
    open_still = tracer.start_span("never ended")
    pid = os.fork()
    if not pid:
        with tracer.start_as_current_span("in a child"):
            pass
        os._exit(0)
    os.waitpid(pid, 0)
print("this is the agent's own output")
sys.exit(3)
"""


def test_an_agent_whose_spans_all_arrive_is_well(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = _counted(server, capsys, tmp_path, _WHOLE)
    counts = found.said["spans"]
    assert (found.code, counts["started"], counts["queued"], counts["stored"]) == (0, 6, 6, 6)
    assert (counts["processes"], counts["exit_code"], counts["dropped"], counts["refused"]) == (2, 3, 0, 0)


_SECOND_OWNER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
owner = TracerProvider().get_tracer("error.tracker")
with trace.get_tracer("agent").start_as_current_span("run"):
    for number in range(4):
        with owner.start_as_current_span("theirs"):
            pass
"""


def test_spans_of_another_owner_are_missed(server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = _counted(server, capsys, tmp_path, _SECOND_OWNER)
    counts = found.said["spans"]
    assert (found.code, counts["started"], counts["queued"], counts["stored"]) == (2, 5, 1, 1)
    said = found.failed["count"]
    assert "4 never came to us: another owner of OpenTelemetry" in said["explanation"]
    assert "error.tracker (4)" in said["explanation"]
    assert "one tracer provider" in said["advice"]


_TAKEN_OVER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
with trace.get_tracer("agent").start_as_current_span("run"):
    pass
"""


def test_a_provider_that_is_set_for_all_is_no_trouble(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = _counted(server, capsys, tmp_path, _TAKEN_OVER)
    assert (found.code, found.said["spans"]["stored"]) == (0, 1)


_SAMPLED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
trace.set_tracer_provider(TracerProvider(sampler=ALWAYS_OFF))
with trace.get_tracer("agent").start_as_current_span("run"):
    pass
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (_SAMPLED, "1 were not sampled"),
        ("print('no spans')", "the command started no span"),
        ("import os; os.execvp('true', ['true'])", "the command started no span"),
    ],
    ids=["sampled", "none", "exec"],
)
def test_an_agent_without_spans_is_told_why(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path, program: str, said: str
) -> None:
    found = _counted(server, capsys, tmp_path, program)
    assert found.code == 2
    assert said in found.failed["count"]["explanation"]


def test_a_command_that_is_no_python_or_not_there_is_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    at = [*_at(server), "--store", server.addresses.store, "--"]
    assert "no Python process" in Examined(capsys, *at, "true").failed["count"]["explanation"]
    assert "is not found" in Examined(capsys, *at, "no-such-command").failed["count"]["explanation"]
