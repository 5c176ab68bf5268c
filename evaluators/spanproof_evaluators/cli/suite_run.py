"""spanproof suite run: every task in a fresh world, judged when the agent is dead."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from spanproof_evaluators.cli.options import json_option, store_option, trusted
from spanproof_evaluators.cli.output import console, tell
from spanproof_evaluators.errors import FilterError

if TYPE_CHECKING:
    from spanproof_evaluators.harness import Options, Progress
    from spanproof_evaluators.harness.isolation import Isolation
    from spanproof_evaluators.model.reports import Report


@click.command("run", short_help="Run an agent on every task, each attempt in a fresh world.")
@click.argument("file", metavar="SUITE", type=click.Path(path_type=Path))
@click.argument("labels", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--agent",
    required=True,
    metavar="CMD|MODULE:FUNCTION|URL",
    help="A command ({prompt} stands for the prompt, else it is on standard input), a function, or a service.",
)
@click.option("--variant", default="agent", show_default=True, metavar="NAME", help="What a report compares.")
@click.option(
    "-n", "--attempts", type=click.IntRange(1, 1000), help="Tries a task; by default what it says as runs, else 3."
)
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Tries at a time.")
@click.option("--task", "tasks", multiple=True, metavar="TASK", help="Only this task. Repeatable.")
@click.option("--seed", type=int, default=0, show_default=True, help="Each task and attempt has its own seed of it.")
@click.option(
    "--env", "named", multiple=True, metavar="NAME", help="A variable that agents are given, a key say. Repeatable."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "namespace", "process"]),
    default="auto",
    show_default=True,
    help="How agents are shut in: by Linux namespaces where the system gives them, else by a process group.",
)
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="KEY=A,B",
    help="Run every combination; {KEY} in --agent stands for the level. Once, or twice for a two-way table.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=2,
    show_default=True,
    help="How often an attempt is tried again that the infrastructure broke.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    default=None,
    metavar="[RUN]",
    help="Go on with a run, without a word the last of this suite and variant. What has a verdict is not run again.",
)
@click.option("--keep-worlds", type=click.Path(file_okay=False, path_type=Path), help="Keep every world there.")
@click.option("--token", envvar="SPANPROOF_TOKEN", help="For a server that demands one. Also SPANPROOF_TOKEN.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write one self-contained file.")
@click.option("-v", "--verbose", is_flag=True, help="All that stands beside each number, and every trial's proof.")
@store_option
@json_option
def run(
    file: Path,
    labels: tuple[str, ...],
    agent: str,
    variant: str,
    attempts: int | None,
    jobs: int,
    tasks: tuple[str, ...],
    seed: int,
    named: tuple[str, ...],
    isolation: "Isolation",
    grids: tuple[str, ...],
    retries: int,
    resume: str | None,
    keep_worlds: Path | None,
    token: str | None,
    junit: Path | None,
    html: Path | None,
    verbose: bool,
    address: str,
    as_json: bool,
) -> int:
    """Run an agent on the tasks of SUITE (YAML or JSON), and report what is proven of each attempt.

    Every attempt has a world of its own, begins with the task's start state, and is judged when the agent and all that
    it started are dead. Further labels of the variant are given as KEY=VALUE.

    Exit codes: 0 every attempt has a verdict, whatever it is; 2 could not run, or was stopped; 3 some attempts have no
    verdict: the infrastructure broke.
    """
    from spanproof_evaluators.harness import Options, run_suite
    from spanproof_evaluators.harness.running import FOLDER, last_run
    from spanproof_evaluators.runner.python_suites import open_suite

    suite = open_suite(file).suite
    runs = Path(FOLDER)
    options = Options(
        variant=variant,
        labels=dict(_label(text) for text in labels),
        attempts=attempts,
        jobs=jobs,
        seed=seed,
        tasks=tasks,
        retries=retries,
        isolation=isolation,
        named=named,
        token=token,
        keep=keep_worlds,
    )
    if grids:
        return _grid(file, agent, grids, options, address, resume, {"junit": junit, "html": html}, verbose, as_json)
    done = run_suite(
        file,
        agent,
        options=options,
        store=address,
        runs=runs,
        resume=last_run(runs, suite.id, variant) if resume == "last" else resume,
        told=_told,
        say=tell,
    )
    if done.report is not None:
        done = replace(done, report=trusted(done.report, address))
    _write(done.report, {"junit": junit, "html": html})
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        click.echo(
            line(
                {
                    "run": done.run,
                    "store": done.store,
                    "verdicts": done.verdicts,
                    "missing": [[task, attempt] for task, attempt in done.missing],
                    "interrupted": done.interrupted,
                    "report": report_json(done.report) if done.report is not None else None,
                }
            )
        )
    elif done.report is not None:
        from spanproof_evaluators.reports.terminal import print_report

        print_report(console(), done.report, verbose=verbose)
    if done.missing:
        from spanproof_evaluators.reports.wording import plural

        tell(f"{plural(len(done.missing), 'attempt')} without a verdict. Go on with:")
        tell(f"  {_again(done.run)}")
    return 2 if done.interrupted else 3 if done.missing else 0


def _grid(
    file: Path,
    agent: str,
    grids: tuple[str, ...],
    options: "Options",
    address: str,
    resume: str | None,
    files: dict[str, Path | None],
    verbose: bool,
    as_json: bool,
) -> int:
    """Run every combination, and print the report and the table."""
    from spanproof_evaluators.harness.grids import run_grid
    from spanproof_evaluators.runner.grids import read_factors

    if resume not in (None, "last"):
        raise FilterError("--resume with --grid takes no run: the last one of each combination goes on")
    done = run_grid(
        file,
        agent,
        read_factors(grids),
        options=options,
        store=address,
        resume=resume is not None,
        told=_told,
        say=tell,
    )
    _write(done.report, files)
    missing = sum(len(run.missing) for run in done.runs)
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        click.echo(
            line(
                {
                    "runs": [run.run for run in done.runs],
                    "missing": missing,
                    "interrupted": done.interrupted,
                    "grid": done.grid.to_json() if done.grid is not None else None,
                    "report": report_json(done.report) if done.report is not None else None,
                }
            )
        )
    elif done.report is not None:
        from spanproof_evaluators.reports.terminal import print_grid, print_report

        print_report(console(), done.report, verbose=verbose)
        if done.grid is not None:
            print_grid(console(), done.grid)
    if missing or done.interrupted:
        tell(f"{missing} attempts without a verdict. Go on with:")
        tell(f"  {_again('last')}")
    return 2 if done.interrupted else 3 if missing else 0


def _told(progress: "Progress") -> None:
    from spanproof_evaluators.reports.wording import clean

    tell(f"{progress.done}/{progress.of}  {progress.task} #{progress.attempt}  {clean(progress.said)[:200]}")


def _again(run: str) -> str:
    """Return the command that goes on with a run: the same options, as far as they were given."""
    context = click.get_current_context()
    words = ["spanproof", "suite", "run"]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        source = context.get_parameter_source(parameter.name or "")
        if source is not ParameterSource.COMMANDLINE or parameter.name in ("resume", "token") or given is None:
            continue
        option = max(parameter.opts, key=len)
        several = given if isinstance(given, tuple) else (given,)
        for one in several:
            if isinstance(parameter, click.Argument):
                words.append(str(one))
            else:
                words += [option] if one is True else [option, str(one)]
    return shlex.join([*words, f"--resume={run}"])


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise FilterError(f"{text!r} is no label. Give KEY=VALUE")
    return key, value


def _write(made: "Report | None", files: dict[str, Path | None]) -> None:
    """Write the report as each of these formats.

    Raises:
        EvaluatorError: a file cannot be written.
    """
    from spanproof_evaluators.errors import EvaluatorError
    from spanproof_evaluators.reports.files import FORMATS

    for name, path in files.items():
        if path is None or made is None:
            continue
        try:
            path.write_bytes(FORMATS[name](made))
        except OSError as error:
            raise EvaluatorError(f"{path} cannot be written: {error.strerror}") from error
        tell(f"wrote {path}")
