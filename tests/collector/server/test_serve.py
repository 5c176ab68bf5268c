import asyncio
import contextlib
import socket
import threading
import time
from http.client import HTTPException
from pathlib import Path

import grpc
import pytest

from spanproof_collector.errors import ServeError
from spanproof_collector.server import serve as serving
from spanproof_collector.server.serve import Addresses, Collector, serve
from spanproof_collector.store import Store, open_store
from spanproof_collector.store.tokens import add_token
from tests.collector.server.posting import ask
from tests.collector_process import Collecting, collecting
from tests.factories import span, trace_id, traces

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def _never(addresses: Addresses) -> None:
    raise AssertionError(f"the server came up: {addresses}")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "collector.example"])
def test_a_host_that_others_can_reach_is_refused_unless_said(host: str, tmp_path: Path) -> None:
    with pytest.raises(ServeError, match="insecure"):
        serve(f"chdb://{tmp_path}/store", host, 0, 0, on_ready=_never)
    assert not (tmp_path / "store").exists()


def test_a_token_for_readers_opens_no_host_to_senders(tmp_path: Path) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        add_token(store, "prometheus", ["read"])
    with pytest.raises(ServeError, match="spanproof token add NAME --scope ingest"):
        serve(f"chdb://{tmp_path}/store", "0.0.0.0", 0, 0, on_ready=_never)


class _CameUpError(Exception):
    pass


@pytest.mark.parametrize("word", ["token", "insecure"])
def test_a_host_that_others_can_reach_is_served_with_a_token_or_when_said(tmp_path: Path, word: str) -> None:
    seen: list[Addresses] = []

    def ready(addresses: Addresses) -> None:
        seen.append(addresses)
        raise _CameUpError

    with open_store(f"chdb://{tmp_path}/store") as store:
        if word == "token":
            add_token(store, "ci", ["ingest"])
    with pytest.raises(_CameUpError):
        serve(f"chdb://{tmp_path}/store", "0.0.0.0", 0, 0, on_ready=ready, insecure=word == "insecure")
    assert [addresses.tokens for addresses in seen] == [word == "token"]


@pytest.mark.parametrize("prefix", ["otel", "/otel/", "/", "/{x}"])
def test_a_prefix_that_is_no_path_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ServeError, match="is no path"):
        serve(f"chdb://{tmp_path}/store", on_ready=_never, http_prefixes=(prefix,))


@pytest.mark.parametrize("word", ["grpc", "http"])
def test_a_port_in_use_is_named(word: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {"grpc_port": 0, "http_port": 0, f"{word}_port": taken.getsockname()[1]}
        with pytest.raises(ServeError, match=rf"(?i):{taken.getsockname()[1]} for OTLP over {word}\b.*--{word}-port"):
            serve(f"chdb://{tmp_path}/store", on_ready=_never, **ports)
    with open_store(f"chdb://{tmp_path}/store"):
        pass  # it let go of the store


def test_two_servers_do_not_share_a_grpc_port(tmp_path: Path) -> None:
    with collecting(tmp_path / "one") as first, pytest.raises(ServeError, match="gRPC"):
        serve(f"chdb://{tmp_path}/two", grpc_port=first.addresses.grpc_port, http_port=0, on_ready=_never)


def test_a_second_server_on_one_store_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_PATIENCE_SECONDS", 0.3)
    with collecting(tmp_path / "store") as first:
        holder = f"another server, process {first.process.pid}, holds the store"
        with pytest.raises(ServeError, match=holder):
            serve(first.store, grpc_port=0, http_port=0, on_ready=_never)


def test_a_server_is_ready_within_five_seconds_and_other_commands_go_through_it(tmp_path: Path) -> None:
    began = time.monotonic()
    with collecting(tmp_path / "store") as server:
        assert time.monotonic() - began < 5
        assert ask(server.addresses, "/v1/traces", traces(span("a")).SerializeToString()).status == 200
        with open_store(server.store) as store:
            assert store.embedded_path is None
            assert _stored(store, {"a"}) == {"a": ["a"]}


def test_a_server_that_is_told_to_stop_answers_what_it_took_and_ends_well(tmp_path: Path) -> None:
    with collecting(tmp_path / "store") as server:
        stream = _Stream(server, clients=4)
        stream.wait_for(50)
        server.process.terminate()
        assert server.process.wait(20) == 0
        acknowledged = stream.end()
    with open_store(server.store) as store:
        assert _stored(store, acknowledged) == {name: [name] for name in acknowledged}


def test_no_acknowledged_span_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for _ in range(2):
        # It comes up by itself after the kill, on the same folder.
        with collecting(tmp_path / "store") as server:
            stream = _Stream(server, clients=6, prefix=f"{len(acknowledged)}")
            stream.wait_for(80)
            server.kill()
            acknowledged |= stream.end()
    assert len(acknowledged) >= 160
    with collecting(tmp_path / "store") as server, open_store(server.store) as store:
        assert _stored(store, acknowledged) == {name: [name] for name in acknowledged}


def test_a_collector_that_cannot_start_leaves_no_port_behind(store: Store) -> None:
    async def start_on(port: int) -> None:
        with pytest.raises(ServeError):
            await Collector(store, "127.0.0.1", port, 0).start()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(start_on(taken.getsockname()[1]))


def _stored(store: Store, traces: set[str]) -> dict[str, list[str]]:
    """Return the names of the spans in each trace."""
    by_id = {("default", trace_id(name).hex()): name for name in traces}
    return {by_id[key]: [each.name for each in found.spans] for key, found in store.read_traces([*by_id]).items()}


class _Stream:
    """Clients that export one request after another, half over gRPC and half over HTTP, until the server is gone."""

    def __init__(self, server: Collecting, clients: int, prefix: str = "") -> None:
        self._to = server.addresses
        self._prefix = prefix
        self._acknowledged: set[str] = set()
        self._some = threading.Condition()
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        """Return when so many requests were acknowledged."""
        with self._some:
            assert self._some.wait_for(lambda: len(self._acknowledged) >= count, timeout=30)

    def end(self) -> set[str]:
        """Return the names of all that was acknowledged, once every client has met its end."""
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        return self._acknowledged

    def _send(self, number: int) -> None:
        with (
            contextlib.suppress(OSError, HTTPException, grpc.RpcError),
            grpc.insecure_channel(f"{self._to.host}:{self._to.grpc_port}") as channel,
        ):
            export = channel.unary_unary(EXPORT)
            for turn in range(100_000):
                name = f"{self._prefix}-{number}-{turn}"
                body = traces(span(name, {"k": "word " * 200}, trace=name)).SerializeToString()
                if number % 2:
                    export(body, timeout=20)
                elif ask(self._to, "/v1/traces", body).status != 200:
                    return
                with self._some:
                    self._acknowledged.add(name)
                    self._some.notify()
