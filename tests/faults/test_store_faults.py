"""A store that is gone, slow, full, or told twice; a clock that jumps."""

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo

from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store, open_store
from spanproof_collector.trials import read_trials
from tests.collector.server.conftest import listeners
from tests.collector.server.posting import Answer, ask
from tests.factories import chat, said, span, trace_id, traces
from tests.faults.running import running

_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


class Proxy:
    """Stands between a client and a server, and can be down, or cut a connection once the server has answered."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.up = True
        self.cut_inserts = 0
        """So many answers to inserts are kept back, and their connections closed."""

        self.inserts: list[bytes] = []
        """What was inserted, by the names of tables, also where the answer was kept back."""

        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def go_down(self) -> None:
        """Close every connection and refuse new ones."""
        self.up = False
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End."""
        self.go_down()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.up:
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
            else:
                client.close()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._to)) as server:
            self._open |= {client, server}
            try:
                while (request := _message(client)) is not None:
                    insert = (
                        b"INSERT INTO" in request[:8192]
                        or b"INSERT%20INTO" in request[:8192]
                        or b"INSERT+INTO" in request[:8192]
                    )
                    if insert:
                        self.inserts.append(request[:8192])
                    server.sendall(request)
                    answer = _message(server)
                    if answer is None or (insert and self._keeps_back()):
                        return
                    client.sendall(answer)
            except OSError:
                return
            finally:
                self._open -= {client, server}

    def _keeps_back(self) -> bool:
        if self.cut_inserts:
            self.cut_inserts -= 1
            return True
        return False


def _message(source: socket.socket) -> bytes | None:
    """Return one whole HTTP message, ``None`` at the end."""
    content = b""
    while b"\r\n\r\n" not in content:
        part = source.recv(65536)
        if not part:
            return None
        content += part
    head, _, body = content.partition(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        while not body.endswith(b"0\r\n\r\n"):
            body += source.recv(65536)
    elif b"content-length:" in lower:
        length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += source.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def proxy(endpoint: ClickHouseEndpoint) -> Iterator[Proxy]:
    proxy = Proxy(endpoint.port)
    yield proxy
    proxy.close()


def _far(proxy: Proxy, endpoint: ClickHouseEndpoint) -> Store:
    return open_store(f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{proxy.port}/spanproof")


def _body(name: str) -> bytes:
    return traces(span(name, chat([said("user", "a long word " * 100)], []))).SerializeToString()


def _rows(store: Store, table: str) -> int:
    """Return how many rows lie in a table, replaced ones included."""
    assert store.engine is not None
    session = store.engine.session()
    try:
        return int(session.query(f"SELECT count() FROM spanproof.{table}", "TSV").bytes())
    finally:
        session.close()


def test_while_the_store_is_down_senders_are_told_to_come_again_and_then_taken_without_a_restart(
    store: Store, proxy: Proxy, endpoint: ClickHouseEndpoint
) -> None:
    with _far(proxy, endpoint) as far, listeners() as listen:
        to = listen(far).addresses
        assert ask(to, "/v1/traces", _body("a")).status == 200
        proxy.go_down()
        answer = ask(to, "/v1/traces", _body("b"))
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        with grpc.insecure_channel(f"{to.host}:{to.grpc_port}") as channel:
            export = channel.unary_unary(_EXPORT)
            with pytest.raises(grpc.RpcError) as failed:
                export(_body("c"), timeout=20)
            assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
            told = dict(failed.value.trailing_metadata())["google.rpc.retryinfo-bin"]
            assert RetryInfo.FromString(told).retry_delay.seconds == 5
            proxy.up = True
            assert ask(to, "/v1/traces", _body("b")).status == 200
            export(_body("c"), timeout=20)
    assert _names(store) == ["a", "b", "c"]


def test_an_insert_that_the_driver_sends_again_after_a_cut_is_stored_once(
    store: Store, proxy: Proxy, endpoint: ClickHouseEndpoint
) -> None:
    with _far(proxy, endpoint) as far, listeners() as listen:
        to = listen(far).addresses
        before = len(proxy.inserts)
        proxy.cut_inserts = 1
        status = ask(to, "/v1/traces", _body("a")).status
        while status != 200:  # where the driver did not send it again by itself, the sender does
            status = ask(to, "/v1/traces", _body("a")).status
        sent = [insert.split(b"INTO")[1][:20] for insert in proxy.inserts[before:]]
        assert len(sent) > len(set(sent)), "nothing was sent twice"
    assert {table: _rows(store, table) for table in ("content", "spans", "steps")} == {
        "content": 1,
        "spans": 1,
        "steps": 1,
    }


def _names(store: Store) -> list[str]:
    records = store.read_traces([("default", trace_id("a").hex())])
    return sorted(each.name for found in records.values() for each in found.spans)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with 64 MB of space."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_full_disk_nothing_acknowledged_is_lost_and_the_server_goes_on_when_there_is_space(
    small_disk: Path, tmp_path: Path
) -> None:
    address = f"chdb://{small_disk}/store"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 30_000_000)
    acknowledged: list[str] = []

    def send(name: str) -> Answer:
        answer = ask(server.addresses, "/v1/traces", _incompressible(name))
        if answer.status == 200:
            acknowledged.append(name)
        return answer

    with running(address, tmp_path) as server:
        answers = (send(f"t{number}") for number in range(200))
        full = next(answer for answer in answers if answer.status != 200)
        assert full.status == 503
        assert "retry-after" in full.headers
        assert b"is full" in full.body
        ballast.unlink()
        assert send("later").status == 200
    with open_store(address) as store:
        found = store.read_traces([("default", trace_id(name).hex()) for name in acknowledged])
        assert {len(each.spans) for each in found.values()} == {50}
        assert len(found) == len(acknowledged) > 2


def _incompressible(name: str) -> bytes:
    spans = [span(f"{name} {number}", {"x": os.urandom(4000).hex()}, trace=name) for number in range(50)]
    return traces(*spans).SerializeToString()


_CLOCK = """
import itertools, time
steps = itertools.count()
now, now_ns = time.time, time.time_ns
time.time = lambda: now() - next(steps) * 3600.0
time.time_ns = lambda: now_ns() - next(steps) * 3_600_000_000_000
"""


def test_a_clock_that_jumps_backwards_changes_nothing(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path}/store"
    poor, rich = traces(span("a")), traces(span("a", {"more": "said"}))
    with running(address, tmp_path, patch=_CLOCK) as server:
        for request in (rich, poor, rich, traces(span("b")), traces(span("b"))):
            assert ask(server.addresses, "/v1/traces", request.SerializeToString()).status == 200
    with open_store(address) as store:
        (trial,) = read_trials(store)
        assert sorted(step.name for step in trial.steps) == ["a", "b"]
        (records,) = store.read_traces([("default", trace_id("a").hex())]).values()
        assert sorted((each.name, dict(each.attributes)) for each in records.spans) == [
            ("a", {"more": "said"}),
            ("b", {}),
        ]
        # Sent twice, stored once: the token does not depend on the time.
        assert _rows(store, "spans") == 3
