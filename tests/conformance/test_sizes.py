"""Long values, many attributes, many spans: stored whole, and never read by who does not ask for them."""

import json
import random
import string
import subprocess
import sys
from pathlib import Path

import pytest

from spanproof_collector.model.filters import Filter
from spanproof_collector.store import Query
from spanproof_collector.store.engine import DATABASE
from spanproof_collector.trials import read_trials
from tests.collector.server.conftest import Listening
from tests.collector.server.posting import ask
from tests.collector_process import collecting
from tests.conformance.senders import Send
from tests.factories import chat, said, span, tool, trace_id, traces


@pytest.mark.parametrize("megabytes", [5, 9, 20])
def test_a_span_of_many_megabytes_is_stored_whole(server: Listening, send: Send, megabytes: int) -> None:
    trace = f"{megabytes} MB {send.__name__}"
    text = "".join(random.Random(megabytes).choices(string.ascii_letters, k=100_000)) * (megabytes * 10)
    assert send(traces(span("a", tool("fetch", {}, text), trace=trace))).code == 0
    key = ("default", trace_id(trace).hex())
    (found,) = server.store.read_traces([key])[key].spans
    assert found.attributes["gen_ai.tool.call.result"] == text
    (trial,) = read_trials(server.store, Filter(trials=(key[1],)), unit="trace")
    assert [call.name for call in trial.tool_calls] == ["fetch"]


def test_a_list_does_not_read_what_it_does_not_show(server: Listening) -> None:
    text = "".join(random.Random(12).choices(string.printable, k=12_000_000))
    request = traces(span("a", chat([said("user", text)], [said("assistant", "ok")]), trace="long"))
    assert ask(server.addresses, "/v1/traces", request.SerializeToString()).status == 200
    assert len(text) < _bytes_read(server, "SELECT body FROM content")
    for query in (Query.LIST_TRACES, Query.LIST_JOIN_KEYS):
        assert 0 < _bytes_read(server, query.sql) < 1_000_000
    # The rows of the spans themselves hold a hash in the place of the text.
    assert 0 < _bytes_read(server, f"SELECT * FROM spans WHERE trace_id = '{trace_id('long').hex()}'") < 1_000_000


def _bytes_read(server: Listening, sql: str) -> int:
    """Return how many bytes the engine says it read, uncompressed, for a statement."""
    assert server.store.engine is not None
    session = server.store.engine.session()
    try:
        session.query(f"USE {DATABASE}")
        return session.query(sql, "Native").bytes_read()
    finally:
        session.close()


def test_ten_thousand_attributes_of_one_span_are_kept(server: Listening, send: Send) -> None:
    trace = f"many {send.__name__}"
    many = {f"key.{number}": f"value {number}" * 5 for number in range(10_000)}
    assert send(traces(span("a", many, trace=trace))).code == 0
    key = ("default", trace_id(trace).hex())
    assert server.store.read_traces([key])[key].spans[0].attributes == many


def test_a_trace_of_ten_thousand_spans_is_read_within_bounds(tmp_path: Path) -> None:
    history = [said("user", f"question {number} " + "word " * 30) for number in range(20)]
    with collecting(tmp_path / "store") as server:
        for first in range(0, 10_000, 500):
            spans = [
                span(f"{n}", chat(history, [said("assistant", f"answer {n}")]), trace="huge", parent="0", at=n)
                for n in range(first, first + 500)
            ]
            assert ask(server.addresses, "/v1/traces", traces(*spans).SerializeToString()).status == 200
    listed = subprocess.run(
        [sys.executable, "-c", _LIST, f"chdb://{tmp_path}/store"], capture_output=True, text=True, check=True
    )
    steps, before, after = json.loads(listed.stdout)
    assert steps == 10_000
    # 10,000 spans of 4 KB in the process that reads them, where another product took 6 GB for 3,000.
    assert (after - before) / 1024 < 600


_LIST = """
import json, resource, sys
from spanproof_collector.store import open_store
from spanproof_collector.trials import read_trials
with open_store(sys.argv[1]) as store:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (trial,) = read_trials(store)
    print(json.dumps([len(trial.steps), before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""
