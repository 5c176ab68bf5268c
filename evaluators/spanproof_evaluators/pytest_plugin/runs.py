"""One trial in a test: a block that the agent acts in, and its result after that."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from opentelemetry import trace

from spanproof_collector.model.filters import Filter
from spanproof_collector.trials import Settling, read_trials
from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.pytest_plugin.results import TrialResult, ended
from spanproof_evaluators.pytest_plugin.session import Session
from spanproof_evaluators.runner import evaluate
from spanproof_evaluators.runner.outcome_sources import OutcomeSource
from spanproof_instrumentation import flush, inject_environment, labels

TIMEOUT_SECONDS: Final = 10.0
QUIET_SECONDS: Final = 0.25
_POLL_SECONDS: Final = 0.05


class NothingRecordedError(EvaluatorError):
    """A trial of which no span came."""

    def __init__(self, trial_id: str, endpoint: str, seconds: float, ended: str) -> None:
        super().__init__(
            f"no span of trial {trial_id} came within {seconds:g} s. The agent has to send to {endpoint}: by "
            "spanproof.run([...]), by spanproof_instrumentation or another OpenTelemetry SDK in this process, or in a "
            "child process with this environment. An exporter that was made before the fixture sends elsewhere: let "
            "the agent call configure() within the test" + (f". The command {ended}" if ended else "")
        )
        self.trial_id = trial_id


@dataclass(kw_only=True, eq=False)
class TrialRun:
    """One trial: a block that the agent acts in, and its result after that."""

    session: Session = field(repr=False)
    endpoint: str
    sources: tuple[OutcomeSource, ...] = field(repr=False)
    trial_id: str
    labels: labels = field(repr=False)
    world: AbstractContextManager[None] | None = field(repr=False)
    process: "subprocess.CompletedProcess[str] | None" = None
    """What ``run`` ran last; ``None`` where it was not asked to."""

    over: bool = False
    judged: bool = False
    _open: ExitStack = field(default_factory=ExitStack, repr=False)

    def __enter__(self) -> Self:
        if self.over:
            raise RuntimeError(f"trial {self.trial_id} is over: a further attempt is a trial of its own")
        self.session.register(self.trial_id)
        self._open.enter_context(self.labels)
        if self.world is not None:
            self._open.enter_context(self.world)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over = True
        self._open.__exit__(kind, error, trace)
        flush()
        _flush_foreign_provider()

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command inside the block, recorded as by ``spanproof run``, and return how it ended.

        Raises:
            subprocess.TimeoutExpired: it took too long, and was killed.
        """
        recorded = [
            sys.executable,
            "-m",
            "spanproof_instrumentation",
            "run",
            "--",
            *(str(os.fspath(part)) for part in command),
        ]
        self.process = subprocess.run(
            recorded,
            env=inject_environment(),
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        return self.process

    def result(self, *, timeout: float = TIMEOUT_SECONDS, quiet: float = QUIET_SECONDS) -> TrialResult:
        """Return the trial with every verdict on it, when no more of it is to be expected.

        That is when its root has ended and nothing came for ``quiet`` seconds, or at once when a world was recorded
        after it. One that is not over after ``timeout`` seconds is judged as it is: ``incomplete``.

        Args:
            timeout: how long a root that has not ended is waited for, in seconds.
            quiet: how long nothing has to come; longer than an agent elsewhere waits between two batches.

        Raises:
            NothingRecordedError: no span of it came.
            RuntimeError: the block has not ended.
        """
        if not self.over:
            raise RuntimeError(f"trial {self.trial_id} has not ended: ask for its result after the block")
        self.wait(timeout, quiet)
        assessment = self.judge()
        if assessment is None:
            raise NothingRecordedError(
                self.trial_id, self.endpoint, timeout, ended(self.process) if self.process else ""
            )
        return assessment

    def judge(self) -> TrialResult | None:
        """Judge what is there and keep it in the store; ``None`` where there is nothing."""
        wanted = Filter(trials=(self.trial_id,))
        found = list(evaluate(self.session.store(), wanted, self.session.suite, sources=self.sources))
        self.judged = True
        return TrialResult(assessment=found[0], kept_in=self.session.kept(), process=self.process) if found else None

    def wait(self, timeout: float, quiet: float = QUIET_SECONDS) -> None:
        """Wait until no more of it is to be expected, but no longer than ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and not self._settled(quiet):
            time.sleep(_POLL_SECONDS)

    def _settled(self, quiet: float) -> bool:
        rule, now = Settling(settle_seconds=quiet), time.time_ns()
        found = list(read_trials(self.session.store(), Filter(trials=(self.trial_id,))))
        return bool(found) and all(rule.settled(one, now) for one in found)


def _flush_foreign_provider() -> None:
    """Send what a provider of the agent's own still holds, by exporters of its own."""
    force_flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if callable(force_flush):
        force_flush(5000)
