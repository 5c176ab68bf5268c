"""What a server logs, as a process of its own: enough to see what happened, and nothing of what was sent."""

import json
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from spanproof_collector.errors import StoreError
from spanproof_collector.server.logs import JsonFormatter, TextFormatter
from spanproof_collector.server.seldom import Seldom
from spanproof_collector.server.serve import Addresses
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.collector.server.test_grpc import TRACES, call
from tests.factories import log_record, logs, span, traces

SECRET = "4111-secret-1111"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server and where its output goes."""

    addresses: Addresses
    process: "subprocess.Popen[bytes]"
    log: Path


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    """Run ``spanproof serve`` until the block ends; everything that it writes is in one file by then."""
    log = folder / "output"
    command = [sys.executable, "-m", "spanproof_evaluators", "serve", "--store", f"chdb://{folder}/store", "--json"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, "--grpc-port", "0", "--http-port", "0", *options], stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            said = json.loads(line)
            ports = [int(said[name].rpartition(":")[2]) for name in ("grpc", "http")]
            yield Server(
                addresses=Addresses(host="127.0.0.1", grpc_port=ports[0], http_port=ports[1], store=said["store"]),
                process=process,
                log=log,
            )
        finally:
            process.terminate()
            assert process.wait(30) == 0


def _provoke(to: Addresses) -> None:
    """Send secrets in every place in which something can go wrong."""
    odd = span(SECRET, {SECRET: SECRET})
    odd.trace_id = SECRET.encode()[:7]
    ask(to, "/v1/traces", traces(span("a", {"card": SECRET}), odd).SerializeToString())
    ask(to, "/v1/traces", traces(span(SECRET)).SerializeToString().replace(b"secret", b"secre\xff"))
    ask(to, "/v1/traces", traces(span("a"), resource={"key": SECRET}).SerializeToString().replace(b"sec", b"s\xffc"))
    ask(to, "/v1/logs", logs(log_record(SECRET, body=SECRET)).SerializeToString())
    ask(to, "/v1/traces", logs(log_record(SECRET, body=SECRET)).SerializeToString())
    ask(to, "/v1/traces", b'{"resourceSpans": "%b' % SECRET.encode(), JSON)
    for value in (f'{{"intValue": "{SECRET}"}}', '{"intValue": 41111111111111111111}', f'{{"bytesValue": "{SECRET}"}}'):
        spelled = f'{{"name": "{SECRET}", "attributes": [{{"key": "{SECRET}", "value": {value}}}]}}'
        ask(to, "/v1/traces", f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spelled}]}}]}}]}}'.encode(), JSON)
    ask(to, "/v1/traces", SECRET.encode(), PROTOBUF | {"Content-Encoding": "gzip"})
    ask(to, "/v1/traces", b"", {"Content-Type": SECRET})
    ask(to, "/v1/traces", b"", PROTOBUF | {"Content-Encoding": SECRET})
    ask(to, f"/{SECRET}", b"")
    with socket.create_connection((to.host, to.http_port), timeout=20) as connection:
        connection.sendall(f"no HTTP {SECRET}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    ask(to, "/v1/traces", b"", PROTOBUF | {"Authorization": f"Bearer {SECRET}"})
    call(to, TRACES, traces(odd).SerializeToString(), metadata=(("authorization", f"Bearer {SECRET}"),))


def test_the_log_is_json_lines_that_say_what_happened_and_nothing_of_what_was_sent(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-format", "json", "--log-level", "debug") as server:
        _provoke(server.addresses)
    text = server.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    said = [line["message"] for line in lines]
    assert any("listening" in each and "tokens not demanded" in each for each in said)
    assert any("rejected 1 of 2 spans: trace id has N bytes, not N (1)" in each for each in said)
    assert any("refused a traces request over http, INVALID_ARGUMENT" in each for each in said)
    assert "stopped: everything that was acknowledged is in the store" in said
    for secret in (SECRET, "secret", "4111", "1111"):
        assert secret not in text


def test_a_token_is_in_no_line_and_text_is_for_people(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "spanproof_evaluators", "token", "add", "ci", "--store", f"chdb://{tmp_path}/store"],
        capture_output=True,
        text=True,
        check=True,
    )
    secret = made.stdout.strip()
    assert secret.startswith("spanproof_")
    with serving(tmp_path) as server:
        headers = PROTOBUF | {"Authorization": f"Bearer {secret}"}
        assert ask(server.addresses, "/v1/traces", traces(span("a")).SerializeToString(), headers).status == 200
        assert ask(server.addresses, "/v1/traces", b"", PROTOBUF | {"Authorization": f"Bearer {SECRET}"}).status == 401
        assert ask(server.addresses, "/v1/traces", b"\xff", headers).status == 400
    text = server.log.read_text()
    assert "INFO    listening: gRPC http://127.0.0.1:" in text
    assert "WARNING refused a traces request over http, UNAUTHENTICATED: the token is not known here" in text
    assert secret not in text
    assert SECRET not in text


def _record(error: Exception) -> logging.LogRecord:
    try:
        raise error
    except Exception:
        return logging.LogRecord("part", logging.ERROR, "file.py", 1, "it failed\n", (), sys.exc_info())


def test_of_an_exception_that_is_not_ours_only_the_kind_and_the_place_are_told() -> None:
    line = json.loads(JsonFormatter().format(_record(ValueError(SECRET))))
    assert (line["error"], line["message"]) == ("ValueError", "it failed")
    assert "_record" in line["at"][-1]
    text = TextFormatter().format(_record(ValueError(SECRET)))
    assert "it failed [ValueError at " in text
    assert SECRET not in text
    assert "\n" not in text
    assert json.loads(JsonFormatter().format(_record(StoreError("no disk"))))["error"] == "StoreError: no disk"


def test_what_is_repeated_is_told_now_and_then_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    seldom = Seldom(logging.getLogger("test"), lambda: now)
    for _ in range(5):
        seldom.warn("a", "first")
    seldom.warn("b", "second")
    now = 10.0
    seldom.warn("a", "first")
    assert caplog.messages == ["first", "second", "first (and 4 more like it before)"]
