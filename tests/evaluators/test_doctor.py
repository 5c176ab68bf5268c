"""spanproof doctor against running servers and against what is no server of ours."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time

import pytest
import trustme

from spanproof_collector.store import open_store
from spanproof_collector.store.tokens import add_token
from spanproof_evaluators.__main__ import main
from spanproof_evaluators.cli.diagnosis.target import places
from tests.collector.server.test_logs import Server, serving


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT", "HEADERS", "PROTOCOL"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    for name in ("TOKEN", "READ_TOKEN", "STORE"):
        monkeypatch.delenv(f"SPANPROOF_{name}", raising=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server without tokens."""
    with serving(tmp_path_factory.mktemp("open")) as running:
        yield running


class Examined:
    """What the doctor says."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        capsys.readouterr()
        self.code = main(["doctor", "--json", *arguments])
        self.said = json.loads(capsys.readouterr().out)
        self.states = [(each["step"], each["state"]) for each in self.said["steps"]]
        self.failed = {each["step"]: each for each in self.said["steps"] if each["state"] == "failed"}


def _at(server: Server, *, tls: bool = False) -> list[str]:
    scheme, to = "https" if tls else "http", server.addresses
    return [
        "--endpoint",
        f"{scheme}://127.0.0.1:{to.http_port}",
        "--grpc-endpoint",
        f"{scheme}://127.0.0.1:{to.grpc_port}",
    ]


ALL_WELL = [
    ("server", "ok"),
    ("ready", "ok"),
    ("clock", "ok"),
    ("send over HTTP", "ok"),
    ("read back", "ok"),
    ("send over gRPC", "ok"),
    ("read back", "ok"),
    ("store", "ok"),
]


def test_where_all_is_well_every_step_says_so(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    found = Examined(capsys, *_at(server), "--store", server.addresses.store)
    assert (found.code, found.said["ok"], found.states) == (0, True, ALL_WELL)


def test_what_was_sent_to_try_the_server_is_no_trial(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert Examined(capsys, *_at(server), "--store", server.addresses.store).code == 0
    assert main(["trials", "--json", "--store", server.addresses.store]) == 0
    assert capsys.readouterr().out == ""
    doctors = ["--project", "spanproof.doctor", "--store", server.addresses.store]
    assert main(["trials", "--json", *doctors]) == 0
    assert capsys.readouterr().out  # asked for by name they are there, and can be deleted
    assert main(["delete", "--yes", *doctors]) == 0
    capsys.readouterr()
    assert main(["trials", "--json", *doctors]) == 0
    assert capsys.readouterr().out == ""


def test_a_person_reads_what_failed_and_what_to_do(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    to = server.addresses
    assert main(["doctor", "--endpoint", to.http, "--grpc-endpoint", to.grpc]) == 0
    well = capsys.readouterr().out
    assert well.splitlines()[-1] == "All is well."
    assert "skipped store           there is no store at chdb://.spanproof" in well
    assert main(["doctor", "--endpoint", to.http, "--grpc-endpoint", to.http]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("FAILED  send over gRPC  what listens at") for line in lines)
    assert "All is well." not in lines


def test_no_server_is_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = Examined(capsys, "--endpoint", f"http://127.0.0.1:{port}", "--grpc-endpoint", f"http://127.0.0.1:{port}")
    assert (found.code, found.states) == (2, [("server", "failed"), ("send over gRPC", "failed")])
    for step in found.failed.values():
        assert "nothing listens at" in step["explanation"]
        assert "spanproof serve" in step["advice"]


def test_ports_that_are_the_wrong_way_round_are_told(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    to = server.addresses
    found = Examined(capsys, "--endpoint", to.grpc, "--grpc-endpoint", to.http)
    assert "speaks another protocol than HTTP/1.1" in found.failed["server"]["explanation"]
    assert "speaks HTTP/1.1" in found.failed["send over gRPC"]["explanation"]
    assert "4317" in found.failed["server"]["advice"]


def test_a_host_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = Examined(capsys, "--endpoint", "http://nowhere.invalid:4318")
    assert [step["explanation"] for step in found.failed.values()] == ["the host 'nowhere.invalid' has no address"] * 2


def test_a_server_of_somebody_else_is_told(capsys: pytest.CaptureFixture[str], server: Server) -> None:
    with _answering(b"{}", skew=0) as address:
        found = Examined(capsys, "--endpoint", address, "--grpc-endpoint", server.addresses.grpc)
    assert "something else than spanproof answers" in found.failed["server"]["explanation"]
    assert ("send over gRPC", "ok") in found.states


@pytest.mark.parametrize(("skew", "said"), [(3600, "ahead of"), (-3600, "behind"), (-7, "behind"), (8, "ahead of")])
def test_a_clock_that_is_wrong_is_told(
    capsys: pytest.CaptureFixture[str], server: Server, skew: int, said: str
) -> None:
    with _answering(b'{"server": "spanproof", "version": "0", "ready": true}', skew) as address:
        found = Examined(capsys, "--endpoint", address, "--grpc-endpoint", server.addresses.grpc)
    assert said in found.failed["clock"]["explanation"]
    assert "NTP" in found.failed["clock"]["advice"]


def test_a_clock_that_is_nearly_right_is_fine(capsys: pytest.CaptureFixture[str], server: Server) -> None:
    with _answering(b'{"server": "spanproof", "version": "0", "ready": true}', -3) as address:
        found = Examined(capsys, "--endpoint", address, "--grpc-endpoint", server.addresses.grpc)
    assert ("clock", "ok") in found.states


@contextmanager
def _answering(body: bytes, skew: int) -> Iterator[str]:
    """Serve one answer whatever is asked, by a clock that is so many seconds off."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(200)
            self.send_header("Date", formatdate(time() + skew, usegmt=True))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join(20)


def test_another_store_than_the_servers_is_told(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    absent = Examined(capsys, *_at(server), "--store", f"chdb://{tmp_path}/store")
    assert "there is no store at" in absent.failed["store"]["explanation"]
    assert not (tmp_path / "store").exists()
    open_store(f"chdb://{tmp_path}/store").close()
    other = Examined(capsys, *_at(server), "--store", f"chdb://{tmp_path}/store")
    assert (other.code, [*other.failed]) == (2, ["store"])
    assert "acknowledged 2 spans" in other.failed["store"]["explanation"]
    assert "has 0 of them" in other.failed["store"]["explanation"]
    assert "name its store with --store" in other.failed["store"]["advice"]


def test_tokens_that_are_missing_wrong_or_for_something_else_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(f"chdb://{tmp_path}/store") as store:
        _, sender = add_token(store, "ci", ["ingest"])
        _, reader = add_token(store, "looks", ["read"])
    with serving(tmp_path) as guarded:
        none = Examined(capsys, *_at(guarded))
        assert "401" in none.failed["send over HTTP"]["explanation"]
        assert "UNAUTHENTICATED" in none.failed["send over gRPC"]["explanation"]
        assert "spanproof token add NAME" in none.failed["send over HTTP"]["advice"]
        assert (
            "not known here" in Examined(capsys, *_at(guarded), "--token", "x").failed["send over HTTP"]["explanation"]
        )
        wrong = Examined(capsys, *_at(guarded), "--token", reader)
        assert "'looks' may not send" in wrong.failed["send over HTTP"]["explanation"]
        assert "'looks' may not send" in wrong.failed["send over gRPC"]["explanation"]
        at = [*_at(guarded), "--store", guarded.addresses.store]
        # Who may only send sees it arrive in the store, where that can be reached.
        unread = Examined(capsys, *at, "--token", sender)
        assert (unread.code, unread.states.count(("read back", "skipped"))) == (0, 2)
        assert Examined(capsys, *at, "--token", sender, "--read-token", reader).states == ALL_WELL
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x=y,Authorization=Bearer%20{sender}")
        monkeypatch.setenv("SPANPROOF_READ_TOKEN", reader)
        assert Examined(capsys, *at).states == ALL_WELL
        monkeypatch.chdir(tmp_path)  # where there is no default store
        monkeypatch.delenv("SPANPROOF_READ_TOKEN")
        nobody = Examined(capsys, *_at(guarded))
        assert "nobody saw the span arrive" in nobody.failed["store"]["explanation"]


def test_trouble_with_tls_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], server: Server) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    made.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    files = ["--tls-cert", f"{tmp_path}/server.pem", "--tls-key", f"{tmp_path}/server.pem"]
    with serving(tmp_path, *files) as encrypted:
        trusted = Examined(
            capsys, *_at(encrypted, tls=True), "--ca", f"{tmp_path}/ca.pem", "--store", encrypted.addresses.store
        )
        assert (trusted.code, trusted.states) == (0, ALL_WELL)
        unknown = Examined(capsys, *_at(encrypted, tls=True))
        for step in unknown.failed.values():
            assert "is not trusted" in step["explanation"]
            assert "--ca FILE" in step["advice"]
        plain = Examined(capsys, *_at(encrypted))
        assert "https://" in plain.failed["server"]["advice"]
        assert "https://" in plain.failed["send over gRPC"]["advice"]
    wrong = Examined(capsys, *_at(server, tls=True))
    assert [("does not speak TLS" in step["explanation"]) for step in wrong.failed.values()] == [True, True]


def test_a_server_that_demands_a_clients_certificate_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    authority.issue_cert("me@example.com").private_key_and_cert_chain_pem.write_to_path(tmp_path / "me.pem")
    files = ["--tls-cert", f"{tmp_path}/server.pem", "--tls-key", f"{tmp_path}/server.pem"]
    with serving(tmp_path, *files, "--tls-client-ca", f"{tmp_path}/ca.pem") as closed:
        at = [*_at(closed, tls=True), "--ca", f"{tmp_path}/ca.pem", "--store", closed.addresses.store]
        refused = Examined(capsys, *at)
        assert "demands a certificate of the client" in refused.failed["server"]["explanation"]
        mine = ["--client-cert", f"{tmp_path}/me.pem", "--client-key", f"{tmp_path}/me.pem"]
        assert Examined(capsys, *at, *mine).states == ALL_WELL


@pytest.mark.parametrize("address", ["ftp://host", "http://", "http://host:port"])
def test_what_is_no_address_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--endpoint", address]) == 2
    assert "Usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "http", "grpc", "expected"),
    [
        ("", None, None, ("localhost:4318", "localhost:4317")),
        ("http://a:5318", None, None, ("a:5318", "a:4317")),
        ("http://a:4317", None, None, ("a:4318", "a:4317")),
        ("http://a:5318", None, "http://b:5317", ("a:5318", "b:5317")),
        ("http://a:5318", "http://b:6318", None, ("b:6318", "b:4317")),
        ("http://a:4317", None, "http://b:5317", ("b:4318", "b:5317")),
        ("", None, "http://b:5317", ("b:4318", "b:5317")),
    ],
)
def test_an_address_that_is_not_given_comes_from_the_environment_and_else_from_the_other_one(
    monkeypatch: pytest.MonkeyPatch, environment: str, http: str | None, grpc: str | None, expected: tuple[str, str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", environment)
    assert tuple(f"{place.host}:{place.port}" for place in places(http, grpc)) == expected
