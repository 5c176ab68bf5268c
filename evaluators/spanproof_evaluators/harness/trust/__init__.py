"""Evaluating the evaluators: a suite's checks tried on agents and worlds of which the right word is known.

card = try_suite(open_suite(Path("suite.yaml")))
card.vacuous            # tasks that doing nothing passes
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spanproof_evaluators.harness.isolation import InForce, namespaces_work
from spanproof_evaluators.harness.judging import Bench
from spanproof_evaluators.harness.trust.trying import Trying
from spanproof_evaluators.harness.worlds import Starts, WorldError
from spanproof_evaluators.model.suites import Suite, Task
from spanproof_evaluators.model.trust_cards import TaskTrust, TrustCard
from spanproof_evaluators.runner.python_suites import OpenSuite

MUTANTS: Final = 8
"""Altered end states a task, at most."""


def try_suite(
    opened: OpenSuite,
    *,
    tasks: Sequence[str] = (),
    mutants: int = MUTANTS,
    jobs: int = 1,
    told: Callable[[TaskTrust], None] = lambda trust: None,
) -> TrustCard:
    """Try the checks of a suite's tasks and return what came of it.

    Args:
        opened: the suite, and its functions.
        tasks: only these; empty: all.
        mutants: altered end states a task, at most.
        jobs: tasks at a time.
        told: told of each task when it is done.

    Raises:
        WorldError: the suite has no such task, or its own files cannot be read.
    """
    suite = opened.suite
    for name in tasks:
        if suite.task(name) is None:
            raise WorldError(f"suite {suite.id} has no task {name!r}")
    chosen = [task for task in suite.tasks if not tasks or task.id in tasks]
    temporary = Path(tempfile.mkdtemp(prefix="spanproof-trust-")).resolve()
    try:
        bench = bench_of(opened, suite, temporary)
        trying = Trying(opened=opened, bench=bench, folder=temporary / "worlds", most=mutants)

        def one(task: Task) -> TaskTrust:
            found = trying.task(task)
            told(found)
            return found

        with ThreadPoolExecutor(max_workers=jobs) as pool:
            found = tuple(pool.map(one, chosen))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    in_force = InForce(mode="namespace" if namespaces_work() else "process").told()
    return TrustCard(
        suite=suite.id,
        suite_hash=suite.hash,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        isolation=str(in_force["mode"]),
        isolation_says=str(in_force["says"]),
        tasks=found,
    )


def bench_of(opened: OpenSuite, suite: Suite, temporary: Path) -> Bench:
    """Return a bench that judges by a suite: by its own checks, or by others where ``suite`` is another one.

    Raises:
        WorldError: the suite's own files cannot be read.
    """
    base = opened.suite.base or Path.cwd()
    starts = Starts(suite=suite, base=base, folder=temporary / "starts", builders=opened.starts)
    bench = Bench(suite=suite, base=base, starts=starts, folder=temporary / "judged", verifiers=opened.verifiers)
    bench.seal()
    return bench
