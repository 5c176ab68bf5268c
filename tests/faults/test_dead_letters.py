"""The command line on dead letters, through a running server."""

import json
import subprocess
import sys
from pathlib import Path

from tests.collector.server.posting import ask
from tests.factories import span, traces
from tests.faults.running import running


def _spanproof(*arguments: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "spanproof_evaluators", "dead-letters", *arguments], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_rejected_span_is_listed_shown_retried_and_dropped_while_the_server_runs(tmp_path: Path) -> None:
    broken = span("broken")
    broken.span_id = b"short"
    address = f"chdb://{tmp_path}/store"
    with running(address, tmp_path) as server:
        answer = ask(server.addresses, "/v1/traces", traces(span("good"), broken).SerializeToString())
        assert answer.status == 200
        (listed,) = [json.loads(line) for line in _spanproof("list", "--store", address, "--json").splitlines()]
        assert listed["reason"] == "span id has 5 bytes, not 8"
        assert (listed["signal"], listed["origin"], listed["size"]) == ("traces", "otlp", broken.ByteSize())
        beginning = listed["id"][:10]
        assert beginning in _spanproof("list", "--store", address).decode()
        assert _spanproof("show", beginning, "--store", address, "--bytes") == broken.SerializeToString()
        assert json.loads(_spanproof("retry", "--store", address, "--json"))["stored"] is False
        assert b"1 dead letter dropped" in _spanproof("drop", beginning, "--store", address)
        assert _spanproof("list", "--store", address, "--json") == b""
