"""Runs an agent as ``spanproof run`` does, and counts its spans: started, queued, acknowledged, stored."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spanproof_collector.errors import StoreError
from spanproof_collector.otlp.identity import DEFAULT_PROJECT
from spanproof_collector.store import open_store
from spanproof_evaluators.cli.diagnosis import over_http
from spanproof_evaluators.cli.diagnosis.findings import Finding, TroubleError
from spanproof_evaluators.cli.diagnosis.target import Target
from spanproof_instrumentation import settings

if TYPE_CHECKING:
    from spanproof_evaluators.model.canonical import Plain

_STEP: Final = "count"
_SCOPES: Final = 5
_STANDARD_ERROR: Final = 2


@dataclass(slots=True, kw_only=True)
class _Census:
    """What all processes of the agent told together."""

    processes: int = 0
    started: int = 0
    unsampled: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    """Started and never seen by us, by the name of their scope."""

    queued: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Span ids by project and trace."""

    dropped: int = 0
    refused: int = 0
    waiting: int = 0

    @property
    def sent(self) -> int:
        """Spans that were queued."""
        return sum(map(len, self.queued.values()))

    def add(self, told: "Mapping[str, object]") -> None:
        """Add one process."""
        self.processes += 1
        for name in ("started", "unsampled", "dropped", "refused", "waiting"):
            setattr(self, name, getattr(self, name) + told[name])
        missed, queued = told["missed"], told["queued"]
        assert isinstance(missed, dict)
        assert isinstance(queued, list)
        self.missed.update(missed)
        for span_id, trace_id, project in queued:
            self.queued[project or DEFAULT_PROJECT, trace_id].add(span_id)


def count(target: Target, store: str, agent: Sequence[str]) -> "tuple[dict[str, Plain] | None, Finding]":
    """Run the agent; return the counts, ``None`` where it did not run, and what they mean."""
    if shutil.which(agent[0]) is None:
        return None, _failed(f"{agent[0]} is not found, or cannot be run", "Check its name")
    with tempfile.TemporaryDirectory(prefix="spanproof-doctor-") as folder:
        code = _run(target, agent, Path(folder))
        census = _Census()
        for path in sorted(Path(folder).glob("*.json")):
            census.add(json.loads(path.read_text(encoding="utf-8")))
    stored: int | None = None
    try:
        stored = _stored(target, store, census)
        finding = _judge(census, stored)
    except TroubleError as trouble:
        finding = trouble.finding(_STEP)
    except StoreError as error:
        finding = _failed(str(error), "Give a token for reading instead: --read-token")
    counts: dict[str, Plain] = {
        "exit_code": code,
        "processes": census.processes,
        "started": census.started,
        "not_sampled": census.unsampled,
        "queued": census.sent,
        "dropped": census.dropped,
        "refused": census.refused,
        "left_behind": census.waiting,
        "stored": stored,
    }
    return counts, finding


def _run(target: Target, agent: Sequence[str], folder: Path) -> int:
    environment = dict(os.environ) | {settings.CENSUS: str(folder), "OTEL_TRACES_EXPORTER": "otlp"}
    if target.token:
        environment["OTEL_EXPORTER_OTLP_HEADERS"] = f"authorization=Bearer%20{target.token}"
    for name, path in (
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", target.authority),
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", target.client_certificate),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", target.client_key),
    ):
        if path is not None:
            environment[name] = str(path)
    command = [sys.executable, "-m", "spanproof_instrumentation", "run", "--endpoint", str(target.http)]
    # Standard output is the diagnosis's.
    done = subprocess.run(
        [*command, "--protocol", "http/protobuf", "--", *agent], env=environment, stdout=_STANDARD_ERROR, check=False
    )
    return done.returncode


def _stored(target: Target, store: str, census: _Census) -> int:
    """Return how many of the queued spans are in the store: the server's word, else what the store says itself.

    Raises:
        TroubleError: the server cannot say.
        StoreError: the store cannot be read.
    """
    found = 0
    for (project, trace_id), sent in census.queued.items():
        there = over_http.span_ids(target, project, trace_id)
        if isinstance(there, str):
            with open_store(store) as opened:
                read = opened.read_traces([*census.queued])
                return sum(
                    len({span.span_id for span in records.spans} & census.queued[key]) for key, records in read.items()
                )
        found += len(there & sent)
    return found


def _judge(census: _Census, stored: int) -> Finding:
    if not census.processes:
        return _failed(
            "no Python process of the command could be watched",
            "spanproof run reaches Python programs; python -I and -S cannot be reached, nor those in containers",
        )
    if not census.started and not census.unsampled:
        return _failed(
            "the command started no span",
            "Nothing that is installed beside it records its libraries: 'spanproof run' says what to install",
        )
    troubles = []
    if census.missed:
        missed = sum(census.missed.values())
        scopes = ", ".join(f"{scope or 'no name'} ({number})" for scope, number in census.missed.most_common(_SCOPES))
        troubles.append(
            (
                f"{missed} never came to us: another owner of OpenTelemetry in the process has them (scopes {scopes})",
                "Let there be one tracer provider: have that owner use the global one, "
                "opentelemetry.trace.get_tracer_provider(), or give its provider an OTLP exporter to this server",
            )
        )
    if census.unsampled:
        troubles.append((f"{census.unsampled} were not sampled", "Set OTEL_TRACES_SAMPLER=always_on"))
    lost = census.dropped + census.refused + census.waiting
    if lost:
        troubles.append(
            (
                f"{lost} were lost on the way: {census.dropped} because the queue was full, {census.refused} because "
                f"the server did not take them, {census.waiting} because it was silent at the end",
                "Look at the server's log; OTEL_BSP_MAX_QUEUE_SIZE makes the queue longer",
            )
        )
    if stored < census.sent - lost:
        troubles.append(
            (f"{census.sent - lost - stored} were acknowledged and are not in the store", "Please report this")
        )
    told = f"{census.started} spans were started and sampled, {stored} of them are in the store"
    if not troubles:
        return Finding(step=_STEP, state="ok", explanation=told)
    return _failed("; ".join([told, *(what for what, _ in troubles)]), ". ".join(advice for _, advice in troubles))


def _failed(explanation: str, advice: str) -> Finding:
    return Finding(step=_STEP, state="failed", explanation=explanation, advice=advice)
