"""Stored spans replayed into trials."""

from collections.abc import Iterator

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import Trial
from spanproof_collector.store import Store
from spanproof_collector.trials.claims import of_text
from spanproof_collector.trials.effects import (
    infer_class,
    key_in,
    parse_catalogue,
    read_catalogue,
    runs_commands,
    words_of,
)
from spanproof_collector.trials.grouping import TraceInfo, TraceKey, Unit
from spanproof_collector.trials.listing import Listing, list_components
from spanproof_collector.trials.members import Component, Member, read_components
from spanproof_collector.trials.reindexing import Reindexed, reindex
from spanproof_collector.trials.settling import IDLE_SECONDS, SETTLE_SECONDS, Settling

__all__ = [
    "IDLE_SECONDS",
    "SETTLE_SECONDS",
    "Component",
    "Listing",
    "Member",
    "Reindexed",
    "Settling",
    "TraceInfo",
    "TraceKey",
    "Unit",
    "infer_class",
    "key_in",
    "list_components",
    "of_text",
    "parse_catalogue",
    "read_catalogue",
    "read_components",
    "read_trials",
    "reindex",
    "runs_commands",
    "words_of",
]


def read_trials(
    store: Store, wanted: Filter | None = None, *, unit: Unit = "session", catalogue: ToolCatalogue = EMPTY
) -> Iterator[Trial]:
    """Return the trials that are asked for, in the order in which their components began.

    Every trial is read whole: a filter chooses trials, it never cuts one.

    Args:
        store: where the spans are.
        wanted: which trials; ``None`` for all.
        unit: ``trace`` splits sessions by trace.
        catalogue: what people say of tools.
    """
    for component in read_components(store, wanted, unit=unit, catalogue=catalogue):
        for member in component.wanted:
            yield member.trial
