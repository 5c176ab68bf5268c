"""spanproof report: variants side by side, from the store alone."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    Unit,
    calibrations_option,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_baseline_trials,
    read_filter,
    read_tools,
    read_verifiers,
    settling_options,
    split_suites,
    store_option,
    tools_option,
    trusted,
    unit_option,
    verifiers_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanproof_collector.model.filters import Filter
    from spanproof_collector.model.tool_catalogue import ToolCatalogue
    from spanproof_evaluators.model.reports import Report
    from spanproof_evaluators.runner.reporting import By


@click.command("report", short_help="The signals, the gates, and what proves them.")
@store_option
@filter_options
@unit_option
@settling_options
@tools_option
@calibrations_option
@verifiers_option
@json_option
@click.option("-v", "--verbose", is_flag=True, help="All that stands beside each number, and every trial's proof.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write one self-contained file.")
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write it for a pull request.")
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML: gates and trials."
)
@click.option("--sarif", type=click.Path(dir_okay=False, path_type=Path), help="Also write what was found as SARIF.")
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Also write a row a trial.")
@click.option("--parquet", type=click.Path(dir_okay=False, path_type=Path), help="The same with a type a column.")
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write what the numbers are a function of, for 'spanproof verify-report'.",
)
@click.option(
    "--by",
    type=click.Choice(["variant", "agent", "model", "suite", "source"]),
    default="variant",
    show_default=True,
    help="What stands side by side.",
)
@click.option("--baseline", metavar="NAME|VARIANT", help="A saved baseline, or another variant: in brackets beside.")
@click.option(
    "--baselines",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".spanproof-baselines"),
    show_default=True,
    help="The folder of saved baselines.",
)
def command(
    address: str,
    unit: Unit,
    settle_seconds: float,
    idle_seconds: float,
    tools_file: str | None,
    calibrations_path: Path,
    as_json: bool,
    verbose: bool,
    html: Path | None,
    markdown: Path | None,
    junit: Path | None,
    sarif: Path | None,
    csv: Path | None,
    parquet: Path | None,
    certificate: Path | None,
    by: "By",
    baseline: str | None,
    baselines: Path,
    verifier_files: tuple[Path, ...],
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Report the five signals, the gates and what proves them, from what 'spanproof evaluate' stored.

    What was evaluated with another version of the suite or of the verifier files that are named here is no verdict.

    Exit codes: 0 done, whatever the gates say; 2 could not run.
    """
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.model.calibrations import read_calibrations
    from spanproof_evaluators.runner import assess, report

    suite, labels = split_suites(suites)
    verifiers = read_verifiers(verifier_files)
    settling = Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    asked = {**given, "suites": labels}
    names = tuple(given.get("variants") or ())
    if names and baseline is not None and not (baselines / f"{baseline}.json").is_file():
        asked["variants"] = (*names, baseline)
    wanted = read_filter(asked)
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        read = assess(store, wanted, suite, unit=unit, settling=settling, catalogue=catalogue, verifiers=verifiers)
        found = list(read)
    if not found:
        raise NoTrialsError(describe(wanted))
    old = read_baseline_trials(baseline, baselines, found)
    beside = (baseline, old) if baseline is not None and old is not None else None
    known = read_calibrations(calibrations_path)
    made = report(found, suite, described=describe(wanted), by=by, baseline=beside, calibrations=known)
    made = trusted(made, address, labels)
    files = {"html": html, "markdown": markdown, "junit": junit, "sarif": sarif, "csv": csv, "parquet": parquet}
    _write({name: path for name, path in files.items() if path is not None}, made)
    if certificate is not None:
        _certify(certificate, made, wanted, unit, by, catalogue)
    if as_json:
        from spanproof_evaluators.reports.machine import line, report_json

        click.echo(line(report_json(made)))
        return
    from spanproof_evaluators.reports.terminal import print_report

    print_report(console(), made, verbose=verbose)


def _write(files: "Mapping[str, Path]", made: "Report") -> None:
    """Write the report as each of these formats.

    Raises:
        EvaluatorError: a file cannot be written.
    """
    if not files:
        return
    from spanproof_evaluators.errors import EvaluatorError
    from spanproof_evaluators.reports.files import FORMATS

    for name, path in files.items():
        try:
            path.write_bytes(FORMATS[name](made))
        except OSError as error:
            raise EvaluatorError(f"{path} cannot be written: {error.strerror}") from error
        tell(f"wrote {path}")


def _certify(path: Path, made: "Report", wanted: "Filter", unit: Unit, by: "By", catalogue: "ToolCatalogue") -> None:
    """Write the certificate of a report.

    Raises:
        EvaluatorError: the file cannot be written.
    """
    from dataclasses import asdict

    from spanproof_evaluators.errors import EvaluatorError
    from spanproof_evaluators.model.certificates import Asked
    from spanproof_evaluators.runner.certifying import as_text, certify

    asked = Asked.model_validate({**asdict(wanted), "unit": unit, "by": by})
    try:
        path.write_text(as_text(certify(made, asked, catalogue)), encoding="utf-8")
    except OSError as error:
        raise EvaluatorError(f"{path} cannot be written: {error.strerror}") from error
    tell(f"wrote {path}")
