"""Inserts rows that were derived from stored ones: an odd value costs itself, never its row and never another row.

The boundary at which a derived row that the store refuses is given up, with a log line and no error, is
``_insert_plainly``: what it was derived from is durable, and the projection can be made again.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from spanproof_collector.errors import StoreError, StoreUnreachableError
from spanproof_collector.store.store import Store

_logger = logging.getLogger(__name__)

_Columns = Mapping[str, Sequence[object]]

_UINT64: Final = (0, 2**64 - 1)
_NULLABLE: Final[Mapping[str, tuple[int, int]]] = {
    "attempt": (-(2**31), 2**31 - 1),
    "input_tokens": _UINT64,
    "output_tokens": _UINT64,
    "cache_read_tokens": _UINT64,
    "cache_write_tokens": _UINT64,
    "reasoning_tokens": _UINT64,
}
"""What the nullable numbers of ``steps`` hold. A number outside is no number that anyone counted: it is unknown."""


def insert_derived(store: Store, table: str, columns: _Columns, token: str) -> None:
    """Store derived rows; durable on return, but for rows that the store refuses even without their odd values.

    Args:
        store: the open store.
        table: ``steps`` or ``log_steps``.
        columns: the rows, column by column.
        token: as in ``Store.insert``.

    Raises:
        StoreUnreachableError: the store failed; the same rows with the same token may be tried again.
    """
    _insert_by_halves(store, table, {name: _bounded(name, values) for name, values in columns.items()}, token)


def _insert_by_halves(store: Store, table: str, columns: _Columns, token: str) -> None:
    count = len(next(iter(columns.values()), ()))
    try:
        store.insert(table, columns, token)
    except StoreUnreachableError:
        raise
    except StoreError as error:
        if count <= 1:
            _insert_plainly(store, table, columns, token, error)
            return
        middle = count // 2
        for part, place in (("a", slice(middle)), ("b", slice(middle, None))):
            _insert_by_halves(store, table, {name: values[place] for name, values in columns.items()}, token + part)


def _insert_plainly(store: Store, table: str, columns: _Columns, token: str, why: StoreError) -> None:
    plain = {
        name: [None] if name in _NULLABLE else [_in_utf8(value) for value in values] for name, values in columns.items()
    }
    _logger.warning("a row of %s does not fit and is stored without its numbers: %s", table, why)
    try:
        store.insert(table, plain, f"{token}-plain")
    except StoreUnreachableError:
        raise
    except StoreError:
        _logger.exception("a row of %s is left out; what it was derived from is stored, reindex makes it again", table)


def _bounded(name: str, values: Sequence[object]) -> Sequence[object]:
    if name not in _NULLABLE:
        return values
    least, most = _NULLABLE[name]
    return [value if isinstance(value, int) and least <= value <= most else None for value in values]


def _in_utf8(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_in_utf8(each) for each in value]
        case _:
            return value
