"""A long trace is read page by page, and its payloads are left where they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from spanproof_collector.store import StepRow, Store, read_steps
from spanproof_collector.trials import read_trials
from tests.factories import SECOND, T0, agent, span, tool, trace_id, traces
from tests.storing import put

TRACE = trace_id("a").hex()


def pages(store: Store, limit: int) -> list[list[StepRow]]:
    found: list[list[StepRow]] = []
    while page := read_steps(store, "default", TRACE, after=found[-1][-1].cursor if found else None, limit=limit):
        found.append(page)
    return found


@pytest.mark.parametrize("limit", [1, 3, 7, 1000])
def test_pages_hold_every_step_once_in_order_of_start(store: Store, limit: int) -> None:
    # Two of three start at one moment: there the span ids tell the order.
    put(store, traces(*[span(f"{n}", tool("pay"), at=n // 3) for n in range(7)]))
    found = pages(store, limit)
    assert [len(page) for page in found] == [limit] * (7 // limit) + ([7 % limit] if 7 % limit else [])
    rows = [row for page in found for row in page]
    assert rows == sorted(rows, key=lambda row: (row.start, row.span_id))
    assert {row.name for row in rows} == {f"{n}" for n in range(7)}


def test_a_step_says_what_the_projection_knows(store: Store) -> None:
    put(store, traces(span("pay", tool("pay"), parent="root", at=1, seconds=2, error="no")))
    (row,) = read_steps(store, "default", TRACE)
    assert (row.kind, row.failed, row.start, row.end) == ("tool_call", True, T0 + SECOND, T0 + 3 * SECOND)
    assert row.parent_span_id != ""


def test_of_a_span_that_came_again_the_richest_stands_also_where_its_start_moved(store: Store) -> None:
    put(store, traces(span("poor", key="one", at=5)))
    put(store, traces(span("rich", agent(more="said"), key="one", at=1)), traces(span("poor", key="one", at=9)))
    assert [row.name for row in read_steps(store, "default", TRACE)] == ["rich"]


def test_a_trace_of_another_project_is_another(store: Store) -> None:
    put(store, traces(span("a"), resource={"spanproof.project": "other"}))
    assert read_steps(store, "default", TRACE) == []


PAGING = """
import resource, sys
from spanproof_collector.store import open_store, read_steps
from spanproof_collector.trials import list_components

def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

with open_store(sys.argv[1]) as store:
    read_steps(store, "default", sys.argv[2], limit=10)
    before = peak()
    ((trace,),) = list_components(store).components
    steps, after = 0, None
    while page := read_steps(store, "default", sys.argv[2], after=after):
        steps, after = steps + len(page), page[-1].cursor
    print(steps, peak() - before)
"""


def test_ten_thousand_spans_are_listed_in_little_memory(tmp_path: Path) -> None:
    """Field report 56. A hundred megabytes of payload; what is read of them are ids, times and names."""
    from spanproof_collector.store import open_store

    address = f"chdb://{tmp_path}/store"
    with open_store(address) as store:
        for first in range(0, 10_000, 1000):
            numbers = range(first, first + 1000)
            put(store, traces(*[span("pay", tool("pay", {"n": n}, f"{n} " * 2000), key=f"{n}", at=n) for n in numbers]))
    paged = subprocess.run(
        [sys.executable, "-c", PAGING, address, TRACE], capture_output=True, text=True, check=True, timeout=300
    )
    steps, megabytes = map(int, paged.stdout.split())
    assert steps == 10_000
    assert megabytes < 50
    with open_store(address) as store:
        (trial,) = read_trials(store)
    assert len(trial.steps) == 10_000
