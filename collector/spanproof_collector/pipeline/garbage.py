"""Makes Python's cyclic garbage collector run rarely in a process that does nothing but take in rows."""

import gc


def collect_rarely() -> None:
    """Leave the freeing to reference counts, nearly.

    Rows come by the hundred thousand and hold no cycles; by default each of them is looked at several times, for 7 % of
    the CPU of ingest.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
