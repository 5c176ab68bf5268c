"""The fixture: trials are begun, recorded, judged when they are over, and handed back."""

import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias

from spanproof_evaluators.pytest_plugin.functions import FunctionChecks
from spanproof_evaluators.pytest_plugin.runs import TrialRun
from spanproof_evaluators.pytest_plugin.session import Session, Where
from spanproof_evaluators.runner.outcome_sources import OutcomeSource
from spanproof_evaluators.runner.verifier_files import VerifierFileChecks
from spanproof_evaluators.verifiers import Predicate
from spanproof_instrumentation import configure, end_state_recorder, labels
from spanproof_instrumentation.snapshots import Sql

Verify: TypeAlias = Predicate | str | Path
"""A function of the state before and after, answering as a ``python`` check does, or the path of a verifier file."""

_LONGEST_WAIT_SECONDS: Final = 2.0
"""How long a trial whose result nobody asks for is waited for; what comes later leaves it without a verdict."""


class Spanproof:
    """What the fixture ``spanproof`` is."""

    def __init__(self, session: Session, where: Where, *, test: str) -> None:
        self.endpoint = where.http
        """Where OTLP over HTTP is taken: ``OTEL_EXPORTER_OTLP_ENDPOINT``."""

        self.grpc_endpoint = where.grpc
        self.store = where.store
        """The address of the store, for ``--store``."""

        self._session = session
        self._test = test
        self._trials: list[TrialRun] = []

    def trial(
        self,
        task_id: str | None = None,
        *,
        attempt: int = 0,
        variant: str | None = None,
        verify: Verify | Sequence[Verify] = (),
        folder: str | os.PathLike[str] | None = None,
        git: str | os.PathLike[str] | None = None,
        sql: "Sql | None" = None,
        label: Mapping[str, str] | None = None,
    ) -> TrialRun:
        """Return a trial, to be entered: what the agent does inside the block belongs to it.

        Args:
            task_id: the task; the name of the test where none is given.
            attempt: which attempt at the task, from 0.
            variant: what is compared.
            verify: functions of the state before and after, and verifier files.
            folder: recorded before and after the block, as the world that is judged.
            git: the same for a git tree.
            sql: the same for rows of a database, as ``end_state_recorder`` takes it.
            label: further labels.
        """
        # `configure` sets a provider of the process once; after that it changes nothing.
        configure(endpoint=self.endpoint, protocol="http/protobuf")
        several = [verify] if callable(verify) or isinstance(verify, str | Path) else list(verify)
        task = task_id or self._test
        suite = self._session.suite
        trial_id = f"{task}.{f'{variant}.' if variant else ''}{attempt}.{uuid.uuid4().hex[:8]}"
        run = TrialRun(
            session=self._session,
            endpoint=self.endpoint,
            sources=(*self._session.verifiers, *map(_source, several)),
            trial_id=trial_id,
            labels=labels(
                task=task,
                trial=trial_id,
                attempt=attempt,
                variant=variant,
                suite=suite.id if suite is not None else None,
                **(label or {}),
            ),
            world=_world(folder, git, sql),
        )
        self._trials.append(run)
        return run

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        task_id: str | None = None,
        *,
        attempt: int = 0,
        variant: str | None = None,
        verify: Verify | Sequence[Verify] = (),
        folder: str | os.PathLike[str] | None = None,
        git: str | os.PathLike[str] | None = None,
        sql: "Sql | None" = None,
        label: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> TrialRun:
        """Return a trial that is over: one command, as ``spanproof run`` records it without a change to the agent.

        The trial's ``process`` has exit code and output. What is not said here is as in ``trial``.

        Args:
            command: the agent and its arguments.
            task_id: the task.
            attempt: which attempt.
            variant: what is compared.
            verify: functions and verifier files.
            folder: a world.
            git: a world.
            sql: a world.
            label: further labels.
            cwd: the folder that it runs in.
            timeout: seconds until it is killed.

        Raises:
            subprocess.TimeoutExpired: it was.
        """
        trial = self.trial(
            task_id, attempt=attempt, variant=variant, verify=verify, folder=folder, git=git, sql=sql, label=label
        )
        with trial:
            trial.run(command, cwd=cwd, timeout=timeout)
        return trial

    def judge_what_is_left(self) -> None:
        """Judge the trials whose result nobody asked for, so that the policy of the session has a verdict on them."""
        for one in self._trials:
            if one.over and not one.judged:
                one.wait(_LONGEST_WAIT_SECONDS)
                one.judge()


def _world(
    folder: str | os.PathLike[str] | None, git: str | os.PathLike[str] | None, sql: "Sql | None"
) -> AbstractContextManager[None] | None:
    if folder is None and git is None and sql is None:
        return None
    return end_state_recorder(folder=folder, git=git, sql=sql)


def _source(verify: Verify) -> OutcomeSource:
    if isinstance(verify, str | Path):
        return VerifierFileChecks.read(Path(verify))
    return FunctionChecks(verify)
