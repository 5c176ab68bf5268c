"""One collector for each module, over an embedded store of its own, and the ways to send to it."""

from collections.abc import Iterator

import pytest

from spanproof_collector.store import open_store
from tests.collector.server.conftest import Listen, Listening, listeners
from tests.conformance.senders import TRANSPORTS, Send, sender

__all__ = ["listen"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """Return a collector that every test of a module sends to, each in traces of its own."""
    with open_store(f"chdb://{tmp_path_factory.mktemp('conformance')}/store") as store, listeners() as listen:
        yield listen(store)


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Return a function that starts a collector over a store; it is stopped after the test."""
    with listeners() as listen:
        yield listen


@pytest.fixture(params=TRANSPORTS)
def send(request: pytest.FixtureRequest, server: Listening) -> Send:
    """Return a way to send to ``server``: each test runs once over gRPC, over HTTP with protobuf and with JSON."""
    return sender(request.param, server.addresses)
