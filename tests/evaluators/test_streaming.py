"""However many trials a store holds, evaluating them keeps some at a time."""

import gc
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from spanproof_collector.model.trials import Trial
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store
from spanproof_collector.trials import members
from spanproof_evaluators.cli import evaluate as command
from spanproof_evaluators.cli.group import cli
from spanproof_evaluators.runner import assessing
from spanproof_evaluators.runner.projecting import Projecting
from tests.factories import agent, span, tool, traces
from tests.storing import put

AT_ONCE = 5


def alive() -> int:
    gc.collect()
    return sum(isinstance(one, Trial) for one in gc.get_objects())


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Read and list few trials at a time; return how many there are in memory whenever some are written.

    What other tests of the process left is taken out of the collector's sight meanwhile: it would be gone through each
    time.
    """
    seen: list[int] = []
    write = Projecting.write

    def counted(rows: Projecting) -> None:
        seen.append(alive())
        write(rows)

    monkeypatch.setattr(members, "_TRACES_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(assessing, "TRIALS_A_WRITE", AT_ONCE)
    monkeypatch.setattr(command, "LISTED", AT_ONCE)
    monkeypatch.setattr(Projecting, "write", counted)
    gc.collect()
    gc.freeze()
    yield seen
    gc.unfreeze()


def test_evaluating_keeps_as_many_trials_as_are_read_and_listed_at_once(
    store: Store, endpoint: ClickHouseEndpoint, small_pages: list[int]
) -> None:
    put(
        store,
        traces(
            *(
                each
                for number in range(60)
                for each in (
                    span("run", agent(), trace=f"t{number}", key=f"r{number}", at=number),
                    span(
                        "pay",
                        tool("pay", {}, "ok"),
                        trace=f"t{number}",
                        key=f"p{number}",
                        parent=f"r{number}",
                        at=number,
                    ),
                )
            )
        ),
    )
    before = alive()
    address = f"clickhouse://anybody:{endpoint.token}@127.0.0.1:{endpoint.port}/spanproof"

    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["evaluate", "--store", address, "--include-unsettled"])

    assert result.exit_code == 0, result.output
    assert "60 trials: 0 false successes" in result.stdout
    assert len([line for line in result.stdout.splitlines() if "trial" not in line]) == AT_ONCE
    assert "60 trials evaluated and stored" in result.stderr
    assert f"the {AT_ONCE} most urgent are listed" in result.stderr
    assert len(small_pages) > 60 / AT_ONCE / 2
    # those being read, those being written, and those that may be listed
    assert max(small_pages) - before <= 4 * AT_ONCE
