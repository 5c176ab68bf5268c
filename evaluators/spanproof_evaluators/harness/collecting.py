"""The collector of a run: the server that holds the store, else one of the run's own, started again if it dies."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import urllib3

from spanproof_collector.errors import CollectorError, StoreUnreachableError
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Serving, Store, open_store, serving_now
from spanproof_collector.store.address import FolderAddress, parse_address
from spanproof_collector.trials import read_trials
from spanproof_evaluators.harness.journal import RunError
from spanproof_evaluators.runner.collector_process import CollectorProcess, CollectorProcessError

R = TypeVar("R")

_PATIENCE: Final = 20.0
"""How long a server may take to end, in seconds."""


class StoreGoneError(Exception):
    """The store could not be asked."""


class Collecting:
    """Gives where spans go and what the store holds, as long as its block lasts."""

    def __init__(self, address: str, *, log: Path, token: str | None = None) -> None:
        found = parse_address(address)
        self.address = f"chdb://{found.path}" if isinstance(found, FolderAddress) else address
        self.folder = found.path if isinstance(found, FolderAddress) else None
        self.headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"} if token else {}
        self._log = log
        self._own: CollectorProcess | None = None
        self._url = ""
        self._store: Store | None = None
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        if not self._join():
            self._start()
        return self

    def _join(self) -> bool:
        """Send to the server that holds the store, if there is one and it takes traces; wait for one that is ending.

        Raises:
            RunError: it takes none, or none of ours.
        """
        deadline = time.monotonic() + _PATIENCE
        while (serving := self._serving()) is not None:
            if not serving.otlp:
                raise RunError(
                    f"another process holds the store {self.address} and takes no traces: wait for it to end"
                )
            status = self._status(serving.otlp)
            if status == 200:
                self._url = serving.otlp
                return True
            if status in (401, 403):
                raise RunError(f"the server that holds the store {self.address} demands a token: --token")
            if time.monotonic() > deadline:
                raise RunError(f"the server that holds the store {self.address} answers {status or 'nothing'}")
            time.sleep(0.1)
        return False

    def _serving(self) -> Serving | None:
        return serving_now(self.folder) if self.folder is not None and self.folder.is_dir() else None

    def _status(self, url: str) -> int:
        """Return what a server answers to a request with nothing in it; 0 where nobody answers."""
        headers = {**self.headers, "Content-Type": "application/x-protobuf"}
        with urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(10.0)) as pool:
            try:
                return pool.request("POST", f"{url}/v1/traces", body=b"", headers=headers).status
            except (urllib3.exceptions.HTTPError, OSError):
                return 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self._forget()
            if self._own is not None:
                own, self._own = self._own, None
                if own.alive:
                    own.__exit__(kind, error, traceback)

    @property
    def own(self) -> bool:
        """Whether the run started it."""
        return self._own is not None

    def url(self) -> str:
        """Return where OTLP over HTTP is taken now."""
        return self._url

    def revive(self) -> bool:
        """See that there is one again where it died; return whether there is."""
        with self._lock:
            if self._own is not None and self._own.alive:
                return True
            if self._own is None and self._status(self._url) == 200:
                return True
            self._forget()
            own, self._own = self._own, None
            try:
                if own is not None:
                    own.kill()
                if not self._join():
                    self._start()
            except (CollectorProcessError, RunError):
                return False
            return True

    def read(self, trial_id: str) -> Trial | None:
        """Return a trial as it is known now; ``None`` where nothing of it came.

        Raises:
            StoreGoneError: the store could not be asked.
        """
        found = self.asking(lambda store: list(read_trials(store, Filter(trials=(trial_id,)))))
        return next((one for one in found if one.trial_id == trial_id), None)

    def asking(self, ask: Callable[[Store], R]) -> R:
        """Return what the store says, asked by one thread at a time.

        Raises:
            StoreGoneError: it could not be asked.
        """
        with self._lock:
            try:
                return ask(self._opened())
            except (CollectorError, OSError) as error:
                self._forget()
                raise StoreGoneError(str(error)) from error

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """Give the store to work with, undisturbed."""
        with self._lock:
            yield self._opened()

    def _opened(self) -> Store:
        """Return the store through whoever holds it.

        Raises:
            StoreError: it cannot be opened, or nobody holds it any more.
        """
        if self._store is None:
            found = open_store(self.address)
            if found.embedded_path is not None:
                found.close()  # the collector is gone, and this process must not take its place
                raise StoreUnreachableError(self.address, "nobody holds it any more")
            self._store = found
        return self._store

    def _start(self) -> None:
        if self.folder is not None:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
        own = CollectorProcess(self.address, log=self._log)
        own.__enter__()
        self._own, self._url = own, own.http

    def _forget(self) -> None:
        if self._store is not None:
            store, self._store = self._store, None
            try:
                store.close()
            except (CollectorError, OSError):
                return
