"""The collector of a run: the server that holds the store, else one of the run's own, started again if it dies."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from spanproof_collector.errors import CollectorError, StoreUnreachableError
from spanproof_collector.model.filters import Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store, find_serving, open_store
from spanproof_collector.store.address import FolderAddress, parse_address
from spanproof_collector.trials import read_trials
from spanproof_evaluators.harness.journal import RunError
from spanproof_evaluators.runner.collector_process import CollectorProcess, CollectorProcessError

R = TypeVar("R")


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
        serving = find_serving(self.folder) if self.folder is not None and self.folder.is_dir() else None
        if serving is None or not serving.otlp:
            if serving is not None:
                raise RunError(
                    f"another process holds the store {self.address} and takes no traces: wait for it to end"
                )
            self._start()
        else:
            self._url = serving.otlp
        return self

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
        """Start it again where it is the run's own and died; return whether it should be there now."""
        with self._lock:
            if self._own is not None and not self._own.alive:
                self._forget()
                self._own.kill()
                try:
                    self._start()
                except CollectorProcessError:
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
