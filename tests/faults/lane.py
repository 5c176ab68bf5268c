"""A store that lives through many servers, each of which is killed while several senders send."""

import hashlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final

import clickhouse_connect
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from spanproof_collector.store import Store, open_store
from spanproof_collector.trials import read_trials
from tests.faults.points import SERVING, STARTING, STOPPING
from tests.faults.senders import SENDERS, Sender, make_sender
from tests.faults.traffic import Export, exports
from tests.faults.zygote import Server, Start, Zygote
from tests.storing import put

_FROM_OUTSIDE: Final = ("at an acknowledgement", "with everything acknowledged")
_AGAIN_SECONDS: Final = 0.05
"""Between two attempts of a sender whose server is still there."""

POINTS: Final = (*STARTING, *SERVING, *STOPPING, *_FROM_OUTSIDE)


class FaultFoundError(Exception):
    """A promise was broken; the message says which, and how to see it again."""


@dataclass(slots=True)
class Summary:
    """What the runs of a lane came to."""

    killed: Counter[str] = field(default_factory=Counter)
    """Runs, by where the server was killed."""

    acknowledged: int = 0
    resent: int = 0
    spans: int = 0
    trials: int = 0
    seconds: float = 0.0


def sum_of(summaries: Iterable[Summary]) -> Summary:
    """Return what the runs of some lanes came to; seconds are those of each, one after the other."""
    total = Summary()
    for each in summaries:
        total.killed += each.killed
        total.acknowledged += each.acknowledged
        total.resent += each.resent
        total.spans += each.spans
        total.trials += each.trials
        total.seconds += each.seconds
    return total


@dataclass(slots=True)
class _Run:
    number: int
    seed: int
    exports: list[Export]
    acknowledged: set[int] = field(default_factory=set)


class Lane:
    """Runs one after the other on one store."""

    def __init__(self, zygote: Zygote, folder: Path, number: int, seed: int) -> None:
        self.summary = Summary()
        self._zygote = zygote
        self._folder = folder
        self._number = number
        self._seed = seed
        self._runs: list[_Run] = []
        self._server: Server | None = None
        self._armed = folder / "armed"

    def run(self, numbers: Iterable[int]) -> None:
        """Do the runs with these numbers.

        Raises:
            FaultFoundError: a promise was broken.
        """
        began = time.monotonic()
        every = list(numbers)
        for number, following in zip_longest(every, every[1:], fillvalue=-1):
            seed = hash_of(self._seed, self._number, number)
            run = _Run(number, seed, exports(f"{self._number}.{number}", seed, SENDERS))
            self._runs.append(run)
            self._server = self._one_run(run, self._server, POINTS[following % len(POINTS)])
        self.summary.seconds = time.monotonic() - began

    def compare(self, reference: Store) -> Summary:
        """Compare the store with one that got the same spans in order, from nobody who was killed.

        Raises:
            FaultFoundError: it holds something else, or makes other trials of it.
        """
        spans = [span for run in self._runs for export in run.exports for span in export.spans]
        in_order = sorted(spans, key=lambda span: (_ids(span)[0], span.start_time or 0, len(span.attributes or ())))
        for first in range(0, len(in_order), 1000):
            put(reference, encode_spans(in_order[first : first + 1000]))
        unique = {_ids(span) for span in spans}
        traces = {trace_id for trace_id, _ in unique}
        if self._server is None:
            raise ValueError("nothing was run")
        self._count(len(unique))
        with open_store(self._server.start.store) as store:
            found = {trial.trial_id: trial for trial in read_trials(store)}
        expected = {trial.trial_id: trial for trial in read_trials(reference) if traces.intersection(trial.trace_ids)}
        changed = [key for key in sorted(found.keys() | expected.keys()) if found.get(key) != expected.get(key)]
        if changed:
            raise FaultFoundError(
                f"lane {self._number} of seed {self._seed}: {len(changed)} of {len(expected)} trials differ from those "
                f"of a store that got the same spans in order: {found.get(changed[0])} and {expected.get(changed[0])}"
            )
        self.summary.spans, self.summary.trials = len(unique), len(found)
        return self.summary

    def close(self) -> None:
        """End the last server."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def _one_run(self, run: _Run, server: Server | None, following: str) -> Server:
        """Kill one server while the run is sent to it, and check on the next one. Return that one, running.

        The next one is to die at ``following``, in the run that comes after.
        """
        source = random.Random(run.seed)
        point = POINTS[run.number % len(POINTS)]
        if server is None:
            server = self._start(point, run.seed)
        everything = range(len(run.exports))
        self._armed.touch()
        if point in STARTING:
            server.kill()
            server.wait()
            server = self._start(point, run.seed, dies=True)
        elif point in STOPPING:
            self._send(run, server, everything, stop_at=source.randint(1, len(everything)), terminate=True)
        elif point in _FROM_OUTSIDE:
            last = len(everything) if point == _FROM_OUTSIDE[1] else source.randint(1, len(everything))
            self._send(run, server, everything, stop_at=last)
        else:
            self._send(run, server, everything)
            if not server.ended.is_set():
                point = f"{point}, not reached"
        server.kill()
        server.wait()
        self._armed.unlink()
        self.summary.killed[point] += 1
        server = self._start(following, run.seed + 1)
        self._check(run, server, "after the kill", sorted(run.acknowledged))
        rest = [number for number in everything if number not in run.acknowledged]
        again = source.sample(sorted(run.acknowledged), len(run.acknowledged) // 5)
        self.summary.acknowledged += len(run.acknowledged)
        self.summary.resent += len(rest) + len(again)
        self._send(run, server, [*rest, *again])
        if len(run.acknowledged) < len(everything):
            raise self._found(run, f"{len(everything) - len(run.acknowledged)} requests are never acknowledged")
        self._check(run, server, "after everything was sent again", everything)
        return server

    def _start(self, point: str, seed: int, *, dies: bool = False) -> Server:
        server = self._zygote.serve(
            Start(
                store=f"chdb://{self._folder}/store",
                log=str(self._folder / "log"),
                point=point,
                nth=1 if point in STARTING + STOPPING else random.Random(seed).randint(1, 5),
                armed=str(self._armed),
                seed=seed,
            )
        )
        if (server.addresses is None) != dies:
            raise FaultFoundError(
                f"the server does not {'die' if dies else 'start'}: {(self._folder / 'log').read_text()[-2000:]}"
            )
        return server

    def _send(
        self,
        run: _Run,
        server: Server,
        numbers: Iterable[int],
        *,
        stop_at: int | None = None,
        terminate: bool = False,
    ) -> None:
        """Send until everything is acknowledged or the server is gone; kill it at so many acknowledgements."""
        assert server.addresses is not None
        senders = [make_sender(number, server.addresses["grpc"], server.addresses["http"]) for number in range(SENDERS)]
        mine: list[list[int]] = [[] for _ in senders]
        for number in numbers:
            mine[run.exports[number].sender].append(number)
        guard = threading.Lock()

        def send(sender: Sender, asked: list[int]) -> None:
            for number in asked:
                while not sender.send(run.exports[number].spans):
                    if server.ended.wait(_AGAIN_SECONDS):
                        return
                with guard:
                    run.acknowledged.add(number)
                    if len(run.acknowledged) == stop_at:
                        (server.terminate if terminate else server.kill)()

        def give_up() -> None:
            for sender in senders:
                sender.give_up()

        threads = [threading.Thread(target=send, args=pair) for pair in zip(senders, mine, strict=True)]
        for thread in threads:
            thread.start()
        server.when_ended(give_up)  # else they would try again for as long as their patience lasts
        for thread in threads:
            thread.join()
        for sender in senders:
            sender.close()

    def _check(self, run: _Run, server: Server, when: str, numbers: Iterable[int]) -> None:
        """Look for every span of these requests, each once."""
        expected = {_ids(span) for number in numbers for span in run.exports[number].spans}
        with open_store(server.start.store) as store:
            if store.embedded_path is not None:
                raise self._found(run, f"the server does not hold its store {when}")
            records = store.read_traces(sorted({("default", trace_id) for trace_id, _ in expected}))
        found = Counter((span.trace_id, span.span_id) for each in records.values() for span in each.spans)
        lost = [span for span in expected if not found[span]]
        doubled = [span for span, count in found.items() if count > 1]
        missing = [key for each in records.values() for key in each.lost]
        if lost or doubled or missing:
            raise self._found(run, f"{when}: lost {lost}, doubled {doubled}, without content {missing}")

    def _count(self, unique: int) -> None:
        serving = json.loads((self._folder / "store" / "serving.json").read_text())
        client = clickhouse_connect.get_client(
            host=serving["host"], port=serving["port"], password=serving["token"], database="spanproof"
        )
        try:
            for table in ("spans", "steps"):
                ((count,),) = client.query(f"SELECT count() FROM {table} FINAL").result_rows
                if count != unique:
                    raise FaultFoundError(
                        f"lane {self._number} of seed {self._seed}: {unique} spans were sent, {table} has {count}"
                    )
        finally:
            client.close()

    def _found(self, run: _Run, what: str) -> FaultFoundError:
        point = POINTS[run.number % len(POINTS)]
        return FaultFoundError(
            f"run {run.number} of lane {self._number}, killed at {point!r}: {what}. See it again: "
            f"python -m tests.faults --seed {self._seed} --lane {self._number} --first {run.number} --runs 20"
        )


def _ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.context
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def hash_of(*numbers: int) -> int:
    """Return a number that depends on these, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(numbers).encode(), digest_size=6).digest(), "big")
