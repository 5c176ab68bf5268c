"""The way of rows into the store: asynchronous and bounded for the wire, synchronous for importers."""

from spanproof_collector.pipeline.garbage import collect_rarely, share_one_heap
from spanproof_collector.pipeline.intake import Pipeline
from spanproof_collector.pipeline.measured import BOUNDS, Durations, Load
from spanproof_collector.pipeline.requests import Accepted
from spanproof_collector.pipeline.turns import Arriving, BusyError
from spanproof_collector.pipeline.writer import Writer

__all__ = [
    "BOUNDS",
    "Accepted",
    "Arriving",
    "BusyError",
    "Durations",
    "Load",
    "Pipeline",
    "Writer",
    "collect_rarely",
    "share_one_heap",
]
