"""A grid of runs: every combination of one or two factors on the same tasks, into one report and one table."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from spanproof_evaluators.harness.collecting import Collecting
from spanproof_evaluators.harness.journal import RunError
from spanproof_evaluators.harness.options import Options, Progress, RunResult
from spanproof_evaluators.harness.running import FOLDER, last_run, run_suite
from spanproof_evaluators.model.grids import Factor, Grid
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.runner import report
from spanproof_evaluators.runner.grids import combinations, grid, variant_of
from spanproof_evaluators.runner.python_suites import open_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class GridResult:
    """What the runs of a grid left behind."""

    runs: tuple[RunResult, ...]
    report: Report | None
    grid: Grid | None
    """``None`` where the grid was stopped before every combination was tried."""

    interrupted: bool


def run_grid(
    suite: Path,
    agent: str,
    factors: tuple[Factor, ...],
    *,
    options: Options,
    store: str = "chdb://.spanproof",
    runs: Path = Path(FOLDER),
    resume: bool = False,
    told: Callable[[Progress], None] = lambda progress: None,
    say: Callable[[str], None] = lambda text: None,
) -> GridResult:
    """Run a suite by every combination, one after the other.

    Args:
        suite: the suite's file.
        agent: the agent; ``{KEY}`` in it stands for the level of that factor, which is a label of the trial, too.
        factors: what is varied.
        options: how; the variant of a combination is its levels.
        store: where trials go.
        runs: where journals are kept.
        resume: go on with the last run of each combination that has one.
        told: told of each try that ended.
        say: told of what concerns the runs.

    Raises:
        RunError: the agent does not mind a factor.
    """
    for factor in factors:
        if f"{{{factor.key}}}" not in agent and not agent.startswith(("http://", "https://")):
            raise RunError(f"--grid {factor.key}: the agent does not mind it. Write {{{factor.key}}} into --agent")
    found = open_suite(suite).suite
    done: list[RunResult] = []
    with (
        tempfile.TemporaryDirectory(prefix="spanproof-grid-") as temporary,
        Collecting(store, log=Path(temporary) / "collector.log", token=options.token) as held,
    ):
        for levels in combinations(factors):
            chosen = {factor.key: level for factor, level in zip(factors, levels, strict=True)}
            command = agent
            for key, level in chosen.items():
                command = command.replace(f"{{{key}}}", level)
            variant = variant_of(levels)
            say(f"{', '.join(f'{key} {level}' for key, level in chosen.items())}:")
            done.append(
                run_suite(
                    suite,
                    command,
                    options=replace(options, variant=variant, labels={**options.labels, **chosen}),
                    store=held.address,
                    runs=runs,
                    resume=_last(runs, found.id, variant) if resume else None,
                    told=told,
                    say=say,
                )
            )
            if done[-1].interrupted:
                break
    every = [one for run in done if run.report is not None for one in run.report.assessments]
    interrupted = any(run.interrupted for run in done)
    made = report(every, found, described=f"a grid of suite {found.id}") if every else None
    return GridResult(
        runs=tuple(done),
        report=made,
        grid=grid(made, factors) if made is not None and not interrupted else None,
        interrupted=interrupted,
    )


def _last(runs: Path, suite: str, variant: str) -> str | None:
    """Return the last run of a combination; ``None`` where it has none yet."""
    try:
        return last_run(runs, suite, variant)
    except RunError:
        return None
