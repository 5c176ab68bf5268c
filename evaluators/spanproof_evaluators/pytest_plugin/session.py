"""What one pytest session shares: the collector, its store, and which trials there were.

With pytest-xdist the controller runs the collector. Workers and controller meet in one folder: ``needed`` says that a
test asks for the fixture, ``collector.json`` where the collector is, ``trials-<worker>.jsonl`` which trials there were.
"""

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from spanproof_collector.store import Store
    from spanproof_evaluators.model.suites import Suite
    from spanproof_evaluators.runner.collector_process import CollectorProcess
    from spanproof_evaluators.runner.verifier_files import VerifierFileChecks

_NEEDED: Final = "needed"
_COLLECTOR: Final = "collector.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where the collector is."""

    http: str
    grpc: str
    store: str
    """The address of the store, as other commands are given it."""


class Session:
    """Nothing of it is there until somebody asks: no folder, no process, no connection."""

    def __init__(self, config: pytest.Config, *, shared: Path | None) -> None:
        self._config = config
        self._worker: str | None = getattr(config, "workerinput", {}).get("workerid")
        self._folder = shared
        self._process: CollectorProcess | None = None
        self._where: Where | None = None
        self._store: Store | None = None

    def folder(self) -> Path:
        """Return the folder that workers and controller share."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="spanproof-pytest-"))
        return self._folder

    def need(self) -> None:
        """Say that a test asks for the collector."""
        (self.folder() / _NEEDED).touch()

    def needed(self) -> bool:
        """Return whether a worker said so."""
        return (self.folder() / _NEEDED).exists()

    def collector(self) -> Where:
        """Return where the collector is; start it with the first call.

        Raises:
            CollectorProcessError: it did not come up.
            pytest.UsageError: a worker asks for it that no test of the collection asked for.
        """
        if self._where is None:
            self._where = self._start() if self._worker is None else self._told()
        return self._where

    def store(self) -> "Store":
        """Return the store, through the collector that holds it."""
        if self._store is None:
            from spanproof_collector.store import open_store

            self._store = open_store(self.collector().store)
        return self._store

    def kept(self) -> str | None:
        """Return the address of a store that stays."""
        return self._where.store if self._where is not None and self._config.getoption("--spanproof-store") else None

    def register(self, trial_id: str) -> None:
        """Note a trial of this session."""
        with (self.folder() / f"trials-{self._worker or 'main'}.jsonl").open("a", encoding="utf-8") as notes:
            notes.write(json.dumps(trial_id) + "\n")

    def trials(self) -> tuple[str, ...]:
        """Return the ids of all trials of this session, of every worker."""
        if self._folder is None:
            return ()
        notes = sorted(self._folder.glob("trials-*.jsonl"))
        return tuple(json.loads(line) for note in notes for line in note.read_text(encoding="utf-8").splitlines())

    @cached_property
    def suite(self) -> "Suite | None":
        """The suite of ``--spanproof-suite``."""
        given = self._config.getoption("--spanproof-suite")
        if not given:
            return None
        from spanproof_evaluators.model.suites import read_suite

        return read_suite(self._path(given))

    @cached_property
    def verifiers(self) -> "tuple[VerifierFileChecks, ...]":
        """The files of ``--spanproof-verifiers``."""
        given = self._config.getoption("--spanproof-verifiers")
        if not given:
            return ()
        from spanproof_evaluators.runner.verifier_files import VerifierFileChecks

        return tuple(VerifierFileChecks.read(self._path(one)) for one in given)

    def close(self) -> None:
        """Stop what was started here, and forget what is not to be kept."""
        if self._store is not None:
            self._store.close()
            self._store = None
        try:
            if self._process is not None:
                self._process.__exit__(None, None, None)
                self._process = None
        finally:
            if self._worker is None and self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> Where:
        from spanproof_evaluators.runner.collector_process import CollectorProcess

        given = self._config.getoption("--spanproof-store")
        folder = self._path(given) if given else self.folder() / "store"
        folder.parent.mkdir(parents=True, exist_ok=True)
        process = CollectorProcess(folder, log=self.folder() / "collector.log")
        process.__enter__()
        self._process = process
        where = Where(http=process.http, grpc=process.endpoint, store=process.address)
        written = self.folder() / f"{_COLLECTOR}.new"
        written.write_text(json.dumps(asdict(where)), encoding="utf-8")
        written.replace(self.folder() / _COLLECTOR)
        return where

    def _told(self) -> Where:
        path = self.folder() / _COLLECTOR
        if not path.is_file():
            raise pytest.UsageError(
                "with pytest-xdist the collector starts before the first test, where a test names the fixture: take "
                "'spanproof' as an argument or by usefixtures, instead of request.getfixturevalue"
            )
        return Where(**json.loads(path.read_text(encoding="utf-8")))

    def _path(self, given: str) -> Path:
        return self._config.invocation_params.dir / given


_TAKEN_AWAY: Final = (
    *("OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_CERTIFICATE", "TRACEPARENT", "BAGGAGE"),
    *(
        f"OTEL_EXPORTER_OTLP_{signal}_{name}"
        for signal in ("TRACES", "LOGS")
        for name in ("ENDPOINT", "PROTOCOL", "HEADERS")
    ),
    *("SPANPROOF_ENDPOINT", "SPANPROOF_PROTOCOL"),
)
"""What would send the spans elsewhere, or nowhere."""


def set_environment(monkeypatch: pytest.MonkeyPatch, where: Where) -> None:
    """Let agents of this process and of its children send here until the test is over."""
    for name in _TAKEN_AWAY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", where.http)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    for name, value in (
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "100"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY"),
        ("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content"),
    ):
        if name not in os.environ:
            monkeypatch.setenv(name, value)
