"""Writes a batch into the store's tables, so that a reader never sees a span whose content is missing."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain

from spanproof_collector.otlp import Batch, Rejected, Sent
from spanproof_collector.otlp.batch import Columns
from spanproof_collector.store import Store, insert_derived

BLOCK_ROWS = 8192
"""Rows of one insert. Small ones waste two to three times the CPU; each doubling saves the engine a round of merges."""


def write(store: Store, batch: Batch, token: str, sent: Sent) -> None:
    """Store the batch; durable on return. Written again with the same token it is stored once.

    Content goes first, then the spans and records that refer to it, then what can be derived from them: a derived row
    that does not fit never fails a batch whose spans are durable.

    Args:
        store: the open store.
        batch: rows that were converted with ``sent``.
        token: says what the rows were made of: a hash of the bytes and of their origin.
        sent: is told of the content rows once they are durable.

    Raises:
        StoreUnreachableError: the store failed; write the same batch again.
        StoreError: the rows do not fit the tables.
    """
    _write_content(store, batch, sent)
    derived = partial(insert_derived, store)
    _write_blocks(store.insert, "spans", batch.spans, token)
    _write_blocks(store.insert, "log_records", batch.log_records, token)
    _write_blocks(derived, "steps", batch.steps, token)
    _write_blocks(derived, "log_steps", batch.log_steps, token)
    if batch.rejected:
        _write_dead_letters(store, batch.rejected, token)


def _write_blocks(insert: Callable[[str, Columns, str], None], table: str, columns: Columns, token: str) -> None:
    count = len(next(iter(columns.values()), ()))
    if count <= BLOCK_ROWS:
        insert(table, columns, token)
        return
    for first in range(0, count, BLOCK_ROWS):
        block = {name: column[first : first + BLOCK_ROWS] for name, column in columns.items()}
        insert(table, block, f"{token}-{first}")


def _write_content(store: Store, batch: Batch, sent: Sent) -> None:
    rows = [(*trace, digest, body) for trace, texts in batch.content.items() for digest, body in texts.items()]
    for first in range(0, len(rows), BLOCK_ROWS):
        projects, trace_ids, hashes, bodies = zip(*rows[first : first + BLOCK_ROWS], strict=True)
        columns = {"project": projects, "trace_id": trace_ids, "hash": hashes, "body": bodies}
        # Its own token: which rows are left to send depends on what was sent before, not on the request alone.
        store.insert("content", columns, _digest(chain.from_iterable(zip(projects, trace_ids, hashes, strict=True))))
    sent.add(batch.content)


def _write_dead_letters(store: Store, rejected: Sequence[Rejected], token: str) -> None:
    store.insert(
        "dead_letters",
        {
            "letter_id": [hashlib.sha256(each.reason.encode() + b"\0" + each.body).hexdigest() for each in rejected],
            "received_at": [time.time_ns() // 1_000_000] * len(rejected),
            "signal": [each.signal for each in rejected],
            "origin": [each.origin for each in rejected],
            "reason": [each.reason for each in rejected],
            "bytes": [each.body for each in rejected],
        },
        token,
    )


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("".join(words).encode()).hexdigest()
