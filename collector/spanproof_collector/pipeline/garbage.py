"""How Python keeps its memory in a process that does nothing but take in rows."""

import ctypes
import gc
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""Of glibc's ``mallopt``: how many heaps its threads may spread over."""


def collect_rarely() -> None:
    """Leave the freeing to reference counts, nearly.

    Rows come by the hundred thousand and hold no cycles; by default each of them is looked at several times, for 7 % of
    the CPU of ingest.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def share_one_heap() -> None:
    """Have all threads allocate from one heap, where the C library is glibc. Call it before there are any threads.

    Rows are made by one thread and let go by another, and each heap keeps its own holes: by default there are eight
    heaps for each core, and half of their 130 MiB were free. The interpreter's lock keeps threads apart anyway, and the
    engine has an allocator of its own.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
