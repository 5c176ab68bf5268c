"""What a server tells Prometheus of itself."""

import asyncio
import importlib.metadata
import time
from collections.abc import Iterator
from typing import Final, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from spanproof_collector.errors import StoreError
from spanproof_collector.otlp import Signal
from spanproof_collector.pipeline import BOUNDS, Pipeline
from spanproof_collector.store import Query, Store

_MAX_KINDS: Final = 50
"""Reasons of their own; what goes beyond is counted as ``other``."""

_LETTERS_SECONDS: Final = 15.0
_COUNTED: Final[dict[Signal, str]] = {"traces": "spans", "logs": "log_records"}


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self, pipeline: Pipeline, store: Store) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "spanproof_requests",
            "Export requests that were answered, by the code of google.rpc that answers them.",
            ["transport", "signal", "code"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "spanproof_request_duration_seconds",
            "From the arrival of an export request to its answer.",
            ["transport", "signal"],
            buckets=BOUNDS,
            registry=self.registry,
        )
        self.refused = Counter(
            "spanproof_requests_refused",
            "Requests turned away because too much was in flight; their senders come again.",
            registry=self.registry,
        )
        build = Gauge("spanproof_build_info", "Which spanproof this is.", ["version"], registry=self.registry)
        build.labels(importlib.metadata.version("spanproof")).set(1)
        self.registry.register(_Watched(pipeline))
        self._letters = _Letters(store)
        self.registry.register(self._letters)
        ProcessCollector(registry=self.registry)

    async def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics in the format that a scraper accepts, and its content type."""
        await asyncio.to_thread(self._letters.count)
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def answered(self, transport: str, signal: Signal, code: str, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(transport, signal, code).inc()
        self.seconds.labels(transport, signal).observe(seconds)


class _Watched(Collector):
    """What the pipeline knows."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def collect(self) -> Iterator[Metric]:
        """Yield every metric as it stands."""
        yield from self._items()
        yield from self._queue()

    def _items(self) -> Iterator[Metric]:
        counts = self._pipeline.counts
        stored = CounterMetricFamily("spanproof_items_stored", "Spans and log records made durable.", labels=["signal"])
        received = CounterMetricFamily(
            "spanproof_items_received", "Spans and log records in requests that were taken.", labels=["signal"]
        )
        rejected = CounterMetricFamily(
            "spanproof_items_rejected",
            "Spans and log records that were not stored and went to the dead letters.",
            labels=["signal", "reason"],
        )
        for signal, name in _COUNTED.items():
            of_signal = [each for each in self._pipeline.rejections.most_common() if each[0][0] == signal]
            lost = sum(count for _, count in of_signal)
            stored.add_metric([signal], counts[name])
            received.add_metric([signal], counts[name] + lost)
            for (_, reason), count in of_signal[:_MAX_KINDS]:
                rejected.add_metric([signal, reason], count)
            if more := sum(count for _, count in of_signal[_MAX_KINDS:]):
                rejected.add_metric([signal, "other"], more)
        yield received
        yield stored
        yield rejected
        yield CounterMetricFamily(
            "spanproof_requests_failed", "Requests that the store did not take.", value=counts["failed"]
        )
        yield CounterMetricFamily(
            "spanproof_metrics_requests_dropped",
            "Requests with OTLP metrics, which are answered and not stored.",
            value=counts["metrics_dropped"],
        )

    def _queue(self) -> Iterator[Metric]:
        load = self._pipeline.load
        yield GaugeMetricFamily("spanproof_requests_open", "Requests taken and not answered yet.", value=load.requests)
        yield GaugeMetricFamily(
            "spanproof_queue_rows", "Spans and log records read and not durable yet.", value=load.rows
        )
        yield GaugeMetricFamily("spanproof_queue_bytes", "Bytes of open requests, as they came.", value=load.bytes)
        commits = self._pipeline.commits
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip([*map(str, BOUNDS), "+Inf"], commits.counts, strict=True):
            total += count
            buckets.append((bound, total))
        durations = HistogramMetricFamily(
            "spanproof_commit_duration_seconds", "How long the store took to make a block of requests durable."
        )
        durations.add_metric([], buckets, commits.seconds)
        yield durations


class _Letters(Collector):
    """How many dead letters the store holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted_at = -_LETTERS_SECONDS
        self._count: int | None = None

    def count(self) -> None:
        """Ask the store, at most every fifteen seconds."""
        if time.monotonic() - self._counted_at < _LETTERS_SECONDS:
            return
        try:
            ((count,),) = self._store.rows(Query.COUNT_DEAD_LETTERS)
            self._count = cast(int, count)
        except StoreError:
            self._count = None
        self._counted_at = time.monotonic()

    def collect(self) -> Iterator[Metric]:
        """Yield the count; nothing where the store did not answer."""
        if self._count is not None:
            yield GaugeMetricFamily(
                "spanproof_dead_letters", "Rejected spans and log records that the store keeps.", value=self._count
            )
