"""One server for the runs of these tests: starting it costs more than most of them."""

from collections.abc import Iterator

import pytest

from tests.collector_process import Collecting, collecting


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collecting]:
    """A server that holds a store, for whoever joins it."""
    with collecting(tmp_path_factory.mktemp("held") / "store") as running:
        yield running
