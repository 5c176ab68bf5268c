"""The trials of the demo: which there are, and how one is played.

A trial is played in four steps that do not know each other: a fresh world, a look at it, an agent process that acts on
it, and a look again. Whoever changes the world in between changes the verdict.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from spanproof_evaluators.demo.scripts import SCRIPTS
from spanproof_evaluators.demo.witness import Witness
from spanproof_evaluators.demo.world import World
from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.suites import Suite, Task, parse_suite
from spanproof_instrumentation import inject_environment, labels

_FAULTS: Final[Mapping[str, tuple[str, ...]]] = {"refund-lamp": ("payments",), "goodwill-voucher": ("vouchers",)}
"""By task, the services whose first answer gets lost, whichever agent asks."""

_LONGEST_RUN: Final = 60.0


class AgentProcessError(EvaluatorError):
    """An agent process of the demo that did not end well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One trial to be played: a variant's one attempt at a task, in a world of its own."""

    task: Task
    variant: str
    suite: str
    world: World

    @property
    def trial_id(self) -> str:
        """The label that all its spans carry."""
        return f"{self.variant}.{self.task.id}.0"

    def labels(self) -> labels:
        """Return the labels of the trial, to be entered."""
        return labels(task=self.task.id, trial=self.trial_id, attempt=0, variant=self.variant, suite=self.suite)


def suite_text() -> str:
    """Return the suite of the demo as it is written."""
    return (files(__package__) / "suite.json").read_text(encoding="utf-8")


def plays(worlds: Path) -> tuple[Play, ...]:
    """Return every trial of the demo, each with a fresh world in a folder of its own."""
    suite: Suite = parse_suite(suite_text(), name="suite.json")
    return tuple(
        Play(
            task=task,
            variant=variant,
            suite=suite.id,
            world=World.create(worlds / f"{variant}.{task.id}.0", faults=_FAULTS.get(task.id, ())),
        )
        for task in suite.tasks
        for variant in SCRIPTS
    )


def act(play: Play, endpoint: str) -> str:
    """Let the agent do the task in a process of its own, exporting over gRPC; return its answer.

    Raises:
        AgentProcessError: the process failed, or took too long.
    """
    exporting = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_EXPORTER": "otlp",
        "GRPC_VERBOSITY": "NONE",
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    with play.labels():
        environment = inject_environment(inherited | exporting)
    module = f"{__package__}.agent"
    command = [sys.executable, "-m", module, play.variant, play.task.id, str(play.world.folder), play.task.prompt]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_LONGEST_RUN, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AgentProcessError(f"the agent of {play.trial_id} took more than {_LONGEST_RUN:.0f} s") from error
    if done.returncode != 0:
        raise AgentProcessError(f"the agent of {play.trial_id} ended with {done.returncode}:\n{done.stderr}")
    answer = json.loads(done.stdout)["answer"]
    return str(answer)


def run(play: Play, endpoint: str, witness: Witness) -> str:
    """Play a whole trial: look, let the agent act, grade what it wrote, look again. Return the agent's answer."""
    with play.labels():
        witness.look("before", play.world)
        answer = act(play, endpoint)
        witness.grade(answer)
        witness.look("after", play.world)
    return answer
