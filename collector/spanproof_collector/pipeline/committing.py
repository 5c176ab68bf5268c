"""Commits requests so that no deletion which runs at the same time leaves a span without its content.

A batch leaves out content that the store is believed to have. A deletion makes that untrue, also between the conversion
of a request and its commit, and also while a block is being written. Each deletion counts in the store when it begins
and when it ends: where the count is another after a block was written than when it was converted, the block is made
and written again. Nothing is doubled by that: rows of one key replace each other.
"""

import time
from collections.abc import Sequence
from typing import Final

from spanproof_collector.otlp import Sent, merge
from spanproof_collector.pipeline.converting import Converted, token_of
from spanproof_collector.pipeline.writing import write
from spanproof_collector.store import Store

_POLL_SECONDS: Final = 0.02


def commit(store: Store, group: Sequence[Converted], sent: Sent) -> None:
    """Store the requests as one block; durable on return. What comes while something is deleted is stored after that.

    Raises:
        StoreUnreachableError: the store failed; commit the same group again.
        StoreError: the rows do not fit the tables.
    """
    while True:
        write(store, merge([each.batch for each in group]), token_of(group), sent)
        found = store.read_deletions()
        while found.running:
            time.sleep(_POLL_SECONDS)
            found = store.read_deletions()
        if sent.deletions != found.count:
            sent.forget(found.count)
        if all(each.deletions == found.count for each in group):
            return
        group = [each.again(sent) for each in group]
