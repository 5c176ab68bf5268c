"""What an agent finds around it: a home of its own, no secret of ours, and where to send what it does."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from spanproof_evaluators.harness.agents import given_in_environment
from spanproof_instrumentation import inject_environment, semconv, settings
from spanproof_instrumentation.coding_agents import Target, plan_for
from spanproof_instrumentation.run import INJECTED

INHERITED: Final = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
)
"""The variables of ours that an agent gets. Whatever else it needs is named: ``--env NAME``."""

Labels = Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The folders of one try: nobody else writes there."""

    holder: Path

    @property
    def world(self) -> Path:
        """Where the agent works."""
        return self.holder / "world"

    @property
    def home(self) -> Path:
        """Its HOME."""
        return self.holder / "home"

    @property
    def temporary(self) -> Path:
        """Its TMPDIR."""
        return self.holder / "tmp"

    @property
    def desk(self) -> Path:
        """Where the prompt lies, and the answer is laid."""
        return self.holder / "desk"

    @property
    def prompt(self) -> Path:
        """The file that holds the prompt."""
        return self.desk / "prompt.txt"

    @property
    def answer(self) -> Path:
        """The file that an agent may write its answer into."""
        return self.desk / "answer.txt"

    def make(self, prompt: str) -> None:
        """Make the folders and lay the prompt down.

        Raises:
            OSError: it cannot be done.
        """
        for folder in (self.world, self.home, self.temporary, self.desk):
            folder.mkdir(parents=True)
        self.prompt.write_text(prompt, encoding="utf-8")


def environment(
    own: Own,
    *,
    prompt: str,
    labels: Labels,
    endpoint: str,
    traceparent: str,
    seed: int,
    named: Sequence[str],
    gate: bool,
    capture_content: bool = True,
) -> dict[str, str]:
    """Return the environment of an agent, or of its user.

    Args:
        own: its folders.
        prompt: what it is asked.
        labels: of the trial.
        endpoint: where it sends.
        traceparent: the span that it works under.
        seed: the same for the same task and attempt.
        named: variables of ours that it is given beside those that everybody gets.
        gate: whether it waits behind each call of a tool, for the world to change.
        capture_content: whether messages, arguments and results are recorded.
    """
    inherited = {name: os.environ[name] for name in (*INHERITED, *named) if name in os.environ}
    found = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **inherited,
        "HOME": str(own.home),
        "TMPDIR": str(own.temporary),
        "PWD": str(own.world),
        "PYTHONDONTWRITEBYTECODE": "1",  # else a world changes by being looked at
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_BLRP_SCHEDULE_DELAY": "200",
        "OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{key}={quote(str(value), safe='')}" for key, value in labels.items()),
        settings.ENDPOINT: endpoint,
        settings.PROTOCOL: "http/protobuf",
        settings.CAPTURE_CONTENT: "true" if capture_content else "false",
        "SPANPROOF_SUITE": str(labels.get(semconv.SUITE, "")),
        "SPANPROOF_TASK": str(labels.get(semconv.TASK_ID, "")),
        "SPANPROOF_TRIAL": str(labels.get(semconv.TRIAL_ID, "")),
        "SPANPROOF_ATTEMPT": str(labels.get(semconv.ATTEMPT, "")),
        "SPANPROOF_VARIANT": str(labels.get(semconv.VARIANT, "")),
        "SPANPROOF_SEED": str(seed),
        "SPANPROOF_PROMPT_FILE": str(own.prompt),
        "SPANPROOF_ANSWER_FILE": str(own.answer),
        "SPANPROOF_WORLD": str(own.world),
        **given_in_environment(prompt),
    }
    if gate:
        found[settings.CALL_GATE] = f"{endpoint}/call"
    others = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path and path != INJECTED]
    found["PYTHONPATH"] = os.pathsep.join([INJECTED, *others])
    carried = inject_environment(found)  # nothing of ours: the trial is a trace of its own
    return carried | {"TRACEPARENT": traceparent, "BAGGAGE": baggage(labels)}


def baggage(labels: Labels) -> str:
    """Return labels as W3C baggage."""
    return ",".join(f"{key}={quote(str(value), safe='')}" for key, value in labels.items())


def recorded(
    command: Sequence[str], surroundings: Mapping[str, str], labels: Labels
) -> tuple[list[str], dict[str, str]]:
    """Return a command and its environment, with the switches of a coding agent where it starts one."""
    target = Target(
        endpoint=surroundings["OTEL_EXPORTER_OTLP_ENDPOINT"], protocol="http/protobuf", content=True, labels=labels
    )
    without = {name: value for name, value in surroundings.items() if not name.startswith("OTEL_")}
    plan = plan_for(list(command), without, target)
    if plan is None:
        return list(command), dict(surroundings)
    at = plan.position + 1
    return [*command[:at], *plan.arguments, *command[at:]], {**surroundings, **plan.environment}
