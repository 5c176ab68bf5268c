"""spanproof suite results: what a file of results says, recounted."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import json_option
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.model.measures import Measure
    from spanproof_evaluators.model.result_files import ResultFile


@click.command("results", short_help="Recount a file of results that other runners wrote.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A summary {ogolem, kategorie, sr_krokow} to hold FILE against, by the founding point rules.",
)
@json_option
def results(file: Path, baseline: Path | None, as_json: bool) -> int:
    """Read a FILE of results, by attempt, by task or by name, and print what its rows say as measures.

    Known are rows {fall, forsok, lyckades, ...}, lines {task, runs}, reports {total, passed, avg_score, results},
    trajectories {krokow, ..., czysta}, summaries {ogolem, kategorie, sr_krokow} and journals of three columns. Totals
    that a file states are recounted; what broke is no failure of the agent.

    Exit codes: 0 done, or not worse than the baseline; 1 worse; 2 could not run; 3 that cannot be said.
    """
    from spanproof_evaluators.errors import ResultFileError
    from spanproof_evaluators.model.result_files import read_results
    from spanproof_evaluators.runner.result_files import measures_of, point_gate

    found = read_results(file)
    decision: tuple[bool | None, list[str]] | None = None
    if baseline is not None:
        old = read_results(baseline)
        for path, one in ((file, found), (baseline, old)):
            if one.summary is None:
                raise ResultFileError(
                    str(path), "", "is no summary {ogolem, kategorie, sr_krokow}. Rows are compared by their trials"
                )
        assert found.summary is not None
        assert old.summary is not None
        decision = point_gate(found.summary, old.summary)
    told = measures_of(found)
    if as_json:
        from spanproof_evaluators.reports.machine import line

        click.echo(line(_told(found, told, decision)))
    else:
        _print(found, told, decision)
    if decision is None:
        return 0
    return {True: 0, False: 1, None: 3}[decision[0]]


def _told(
    found: "ResultFile", told: "dict[str, Measure]", decision: tuple[bool | None, list[str]] | None
) -> "dict[str, Plain]":
    from spanproof_evaluators.model.canonical import plain
    from spanproof_evaluators.runner.result_files import extrapolated

    words = {True: "pass", False: "fail", None: "inconclusive"}
    return {
        "format": found.format,
        "measures": {name: one.to_json() for name, one in told.items()},
        "extrapolated": {name: value for k in (1, 3, 5) for name, value in extrapolated(found, k).items()},
        "stated": plain(found.stated),
        "summary": plain(found.summary) if found.summary else None,
        "journal": plain(found.journal),
        "doubts": list(found.doubts),
        "gate": None if decision is None else {"decision": words[decision[0]], "reasons": list(decision[1])},
    }


def _print(found: "ResultFile", told: "dict[str, Measure]", decision: tuple[bool | None, list[str]] | None) -> None:
    from spanproof_evaluators.model.result_files.journals import journal_table
    from spanproof_evaluators.reports.wording import clean

    for name, one in told.items():
        value = "unavailable" if one.value is None else f"{float(one.value):.3f}"
        counts = "" if one.numerator is None else f"  {float(one.numerator):g}/{one.denominator}"
        between = f"  [{one.interval[0]:.3f}, {one.interval[1]:.3f}]" if one.interval else ""
        gaps = f"  {one.unavailable} unavailable" if one.unavailable else ""
        gaps += "".join(f"  {count} {why}" for why, count in one.excluded.items())
        click.echo(f"{name:<30} {value}{counts}{between}{gaps}{'  ' + one.reason if one.reason else ''}")
    if found.journal:
        click.echo(clean(journal_table(found.journal)), nl=False)
    if found.summary is not None:
        click.echo(f"{'overall':<30} {found.summary.overall:g} %, stated without counts: no interval can be given")
        for name, share in found.summary.categories.items():
            click.echo(f"{clean(name):<30} {share:g} %")
    for name, stated in found.stated.items():
        if name not in told:
            click.echo(f"{name:<30} {stated:g}, as the file states it")
    for doubt in found.doubts:
        tell(f"doubt: {clean(doubt)}")
    if decision is not None:
        tell({True: "not worse than the baseline", False: "worse", None: "cannot be said"}[decision[0]])
        for reason in decision[1]:
            tell(f"  {clean(reason)}")
