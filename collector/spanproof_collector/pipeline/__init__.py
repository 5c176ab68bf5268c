"""The way of rows into the store: asynchronous and bounded for the wire, synchronous for importers."""

from spanproof_collector.pipeline.garbage import collect_rarely
from spanproof_collector.pipeline.intake import Accepted, BusyError, Pipeline
from spanproof_collector.pipeline.writer import Writer

__all__ = ["Accepted", "BusyError", "Pipeline", "Writer", "collect_rarely"]
