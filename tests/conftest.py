"""Fixtures for every part. One process runs one embedded engine at a time, so a test opens one store at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spanproof_collector.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a fresh embedded store of this process, closed afterwards; it costs about a tenth of a second."""
    with open_store(f"chdb://{tmp_path}/store") as opened:
        yield opened
