"""Services: what they answer decides, and what they do not answer is no verdict."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spanproof_evaluators.verifiers import Check, EndState, HttpCheck, Place, checked
from tests.evaluators.verifiers.asking import said

ORDER = {"id": "A", "status": "refunded", "amount": 25.0, "note": None, "items": [{"n": 1}, {"n": 2}], "ok": True}


class Service(BaseHTTPRequestHandler):
    """A shop that answers by path, with the faults that services have."""

    calls: list[tuple[str, dict[str, str]]]
    elsewhere: str

    def do_GET(self) -> None:  # the name that the server calls
        """Answer by path."""
        self.calls.append((self.path, dict(self.headers)))
        path = self.path.partition("?")[0]
        match path.removeprefix("/api/"):
            case "orders/A":
                self._say(200, json.dumps(ORDER))
            case "list":
                self._say(200, json.dumps([ORDER, {**ORDER, "status": "open"}]))
            case "text":
                self._say(200, "no json here")
            case "created":
                self._say(201, "{}")
            case "flaky":
                tries = sum(seen == self.path for seen, _ in self.calls)
                self._say(503 if tries < 3 else 200, json.dumps(ORDER))
            case "large":
                self._say(200, "x" * 5_000)
            case "moved":
                self._say(302, "", location="/api/orders/A")
            case "away":
                self._say(302, "", location=f"{self.elsewhere}/api/orders/A")
            case "round":
                self._say(302, "", location="/api/round")
            case "hangs-up":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "drips":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                for _ in range(100):
                    try:
                        self.wfile.write(b"x")
                    except OSError:
                        return
                    time.sleep(0.02)
            case number if number.isdigit():
                self._say(int(number), f"it is {number}, and you sent {self.headers.get('Authorization')}")
            case _:
                self._say(404, "{}")

    def _say(self, status: int, body: str, location: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the name that the server has
        """Say nothing."""


def served() -> Iterator[type[Service]]:
    """Serve until the block ends; the handler knows who called, and its address."""

    class Mine(Service):
        calls: list[tuple[str, dict[str, str]]] = []  # noqa: RUF012  # one list a server
        elsewhere = ""
        address = ""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Mine)
    Mine.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Mine
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def other() -> Iterator[type[Service]]:
    yield from served()


@pytest.fixture(scope="module")
def shop(other: type[Service]) -> Iterator[type[Service]]:
    for service in served():
        service.elsewhere = address(other)
        yield service


def address(service: type[Service]) -> str:
    return str(getattr(service, "address"))  # noqa: B009  # set by the server


def asked(base: str, path: str, headers: dict[str, str] | None = None, /, **fields: object) -> list[Check]:
    spec = HttpCheck.model_validate({"kind": "http", "destination": "api", "path": path, **fields})
    place = Place(kind="http", location=base, headers=headers or {})
    return checked(spec, None, EndState(places={"api": place}), Path())


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("orders/A", {}, (True, None)),
        ("/orders/A", {}, (True, None)),
        ("orders/B", {}, (False, None)),
        ("410", {}, (False, None)),
        ("orders/B", {"status": [404]}, (True, None)),
        ("orders/A", {"status": [404]}, (False, None)),
        ("created", {}, (False, None)),
        ("created", {"status": [200, 201]}, (True, None)),
        ("moved", {}, (True, None)),
        ("moved", {"status": [302]}, (True, None)),
        ("away", {}, (None, "redirected_elsewhere")),
        ("round", {}, (None, "redirected_too_often")),
        ("401", {}, (None, "not_authorized")),
        ("403", {}, (None, "not_authorized")),
        ("401", {"status": [401]}, (True, None)),
        ("400", {}, (None, "unexpected_status")),
        ("429", {"attempts": 1}, (None, "service_failed")),
        ("500", {"attempts": 1}, (None, "service_failed")),
        ("500", {"status": [404], "attempts": 1}, (None, "service_failed")),
        ("large", {"max_bytes": 4_999}, (None, "response_too_large")),
        ("large", {"max_bytes": 5_000}, (True, None)),
        ("hangs-up", {"attempts": 1}, (None, "connection_failed")),
        ("drips", {"attempts": 1, "timeout": 0.3}, (None, "timeout")),
    ],
)
def test_the_status_decides_where_the_service_answered(
    shop: type[Service], path: str, fields: dict[str, object], expected: tuple[bool | None, str | None]
) -> None:
    (found,) = asked(f"{address(shop)}/api", path, **fields)
    assert said(found) == expected


@pytest.mark.parametrize(
    ("path", "expected", "passed"),
    [
        ("orders/A", {"path": "$.status", "equals": "refunded"}, True),
        ("orders/A", {"path": "$.status", "equals": "open"}, False),
        ("orders/A", {"path": "$.amount", "equals": 25}, True),
        ("orders/A", {"path": "$.amount", "equals": "25"}, False),
        ("orders/A", {"path": "$.amount", "equals": 24.5, "tolerance": 0.5}, True),
        ("orders/A", {"path": "$.ok", "equals": True}, True),
        ("orders/A", {"path": "$.ok", "equals": 1}, False),
        ("orders/A", {"path": "$.note", "is_null": True}, True),
        ("orders/A", {"path": "$.gone"}, False),
        ("orders/A", {"path": "$.gone", "is_null": True}, False),
        ("orders/A", {"path": "$.gone", "exactly": 0}, True),
        ("orders/A", {"path": "$.items[*]", "exactly": 2}, True),
        ("orders/A", {"path": "$.items[?@.n == 2]", "exactly": 1}, True),
        ("orders/A", {"path": "$.status", "contains": "fund"}, True),
        ("list", {"path": "$[*].status", "equals": "refunded"}, False),
        ("list", {"path": "$[*].status", "equals": "refunded", "exactly": 1}, True),
        ("list", {"path": "$[*].status", "equals": "lost", "exactly": 0}, True),
        ("text", {"path": "$"}, None),
    ],
)
def test_what_the_json_holds_decides(
    shop: type[Service], path: str, expected: dict[str, object], passed: bool | None
) -> None:
    status, found = asked(f"{address(shop)}/api", path, expect=[expected])
    assert status.passed is True
    assert found.passed is passed
    assert (found.reason is not None) is (passed is None)


def test_a_service_that_recovers_is_heard_and_one_that_does_not_is_given_up(shop: type[Service]) -> None:
    (found,) = asked(f"{address(shop)}/api", "flaky", attempts=3)
    assert said(found) == (True, None)
    before = len(shop.calls)
    (found,) = asked(f"{address(shop)}/api", "502", attempts=2)
    assert said(found) == (None, "service_failed")
    assert len(shop.calls) - before == 2


def test_nobody_there_is_a_gap() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (found,) = asked(f"http://127.0.0.1:{taken.getsockname()[1]}", "x", attempts=1)
    assert said(found) == (None, "connection_failed")


def test_who_never_answers_is_a_gap_after_its_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        (found,) = asked(f"http://127.0.0.1:{silent.getsockname()[1]}", "x", attempts=1, timeout=0.2)
    assert said(found) == (None, "timeout")


def test_a_token_is_sent_there_and_nowhere_else_and_not_told(
    shop: type[Service], other: type[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "tok-12345")
    headers = {"Authorization": "Bearer ${API_TOKEN}"}
    (found,) = asked(f"{address(shop)}/api", "400", headers)
    assert shop.calls[-1][1]["Authorization"] == "Bearer tok-12345"
    assert "${API_TOKEN}" in found.seen
    assert "12345" not in repr(found)
    calls = len(other.calls)
    (found,) = asked(f"{address(shop)}/api", "away", headers)
    assert found.reason == "redirected_elsewhere"
    assert len(other.calls) == calls


def test_an_address_with_a_password_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_PASSWORD", "pass-12345")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base = f"http://me:${{API_PASSWORD}}@127.0.0.1:{taken.getsockname()[1]}"
        (found,) = asked(base, "x", attempts=1)
    assert found.passed is None
    assert "12345" not in repr(found)


@pytest.mark.parametrize("path", ["http://elsewhere/x", "//elsewhere/x", "../admin", "a/../../b"])
def test_a_path_that_leaves_the_destination_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="leaves the destination"):
        HttpCheck(kind="http", destination="api", path=path)
