"""Agents in processes of their own, with spanproof around them or without, and what is read of them afterwards."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from click.testing import CliRunner

from spanproof_evaluators.cli.group import cli

JsonObject = dict[str, Any]

PROGRAMS: Final = Path(__file__).parent / "programs"
SPANPROOF_RUN: Final = [sys.executable, "-m", "spanproof_instrumentation", "run"]
AT_ONCE: Final = 3
"""Of an agent's seconds a good part is waiting: for one core more than there is."""

LIMIT_SECONDS: Final = 90.0
"""What still runs then is killed, and its test fails."""

_INHERITED: Final = frozenset({"PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A program to be run, once."""

    program: str
    arguments: tuple[str, ...] = ()
    model: str = "gpt-refund"
    orders: int = 1
    fault: str = ""
    options: tuple[str, ...] | None = ("--capture-content",)
    """What stands between ``spanproof run`` and the program; ``None`` runs the program alone."""

    environment: Mapping[str, str] = field(default_factory=dict)
    terminated: bool = False
    """Whether it gets SIGTERM once it prints ``waiting``."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A program that has run."""

    order: str
    project: str
    stdout: str
    stderr: str
    exit_code: int
    seconds: float
    """From the last line on standard output, or from SIGTERM, to the end."""


class Agents:
    """Runs agents against one model endpoint and one collector, each in a project of its own."""

    def __init__(self, *, model_address: str, collector_address: str, store: str) -> None:
        self.model_address = model_address
        self.collector_address = collector_address
        self._store = store
        self._number = 1000

    def run(self, asked: Mapping[str, Asked]) -> dict[str, Ended]:
        """Run programs side by side; return what became of each, by the names given."""
        begun = {name: self._begin(name, one) for name, one in asked.items()}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(begun, pool.map(_run, begun.values()), strict=True))

    def trials(self, *projects: str) -> list[JsonObject]:
        """Return the trials of projects, as scripts read them."""
        wanted = [word for project in projects for word in ("--project", project)]
        result = CliRunner().invoke(cli, ["trials", "--store", self._store, "--json", *wanted])
        assert result.exit_code == 0, f"{result.output}{result.exception!r}"
        return [json.loads(line) for line in result.stdout.splitlines()]

    def trial(self, ended: Ended) -> JsonObject:
        """Return the one trial of a run."""
        (trial,) = self.trials(ended.project)
        return trial

    def environment(self, project: str, *, key: str) -> dict[str, str]:
        """Return what a program finds: the models, the collector and, under one name, a key."""
        return {
            **{name: value for name, value in os.environ.items() if name in _INHERITED},
            key: "none",
            "OPENAI_BASE_URL": f"{self.model_address}/v1",
            "ANTHROPIC_BASE_URL": self.model_address,
            "ANTHROPIC_API_KEY": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector_address,
            "OTEL_RESOURCE_ATTRIBUTES": f"spanproof.project={project}",
        }

    def _begin(self, name: str, asked: Asked) -> "Command":
        self._number += 1
        order = f"ORD-{self._number}"
        project = f"{name}/{order}"
        others = "".join(f" and ORD-{self._number}X{place}" for place in range(1, asked.orders))
        around = [] if asked.options is None else [*SPANPROOF_RUN, *asked.options, "--"]
        return Command(
            order=order,
            project=project,
            terminated=asked.terminated,
            words=(*around, sys.executable, str(PROGRAMS / f"{asked.program}.py"), *asked.arguments),
            environment={
                **self.environment(project, key=key_of(asked.program, *asked.arguments)),
                "MODEL": asked.model,
                "TASK": f"Refund order {order}." + (f" First look up {order}{others}." if others else ""),
                "SHOP_FAULT": asked.fault,
                **asked.environment,
            },
        )


def key_of(*programs: str) -> str:
    """Return where a program looks for its key.

    The Agents SDK sends traces of its own to OpenAI as soon as it finds a key under the usual name.
    """
    return "MODEL_KEY" if any("agents" in program for program in programs) else "OPENAI_API_KEY"


@dataclass(frozen=True, kw_only=True)
class Command:
    """How a program is run."""

    order: str
    project: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    terminated: bool


def _run(command: Command) -> Ended:
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command.words, env=command.environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        limit = threading.Timer(LIMIT_SECONDS, process.kill)
        limit.start()
        lines, last = [], time.monotonic()
        for line in process.stdout:
            lines.append(line)
            last = time.monotonic()
            if command.terminated and line == "waiting\n":
                process.terminate()
        process.wait()
        ended = time.monotonic()
        limit.cancel()
        errors.seek(0)
        return Ended(
            order=command.order,
            project=command.project,
            stdout="".join(lines),
            stderr=errors.read(),
            exit_code=process.returncode,
            seconds=ended - last,
        )


def steps(trial: JsonObject, kind: str) -> list[JsonObject]:
    """Return the steps of one kind."""
    return [step for step in trial["steps"] if step["kind"] == kind]


def named(calls: Iterable[JsonObject]) -> list[str]:
    """Return the names of tool calls."""
    return [call["name"] for call in calls]
