"""spanproof verify-report: every number of a report computed again from the stored spans."""

from pathlib import Path

import click

from spanproof_evaluators.cli.options import (
    calibrations_option,
    json_option,
    open_existing,
    read_tools,
    split_suites,
    store_option,
    tools_option,
)


@click.command("verify-report", short_help="Compute every number of a report again, and name what differs.")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@store_option
@tools_option
@calibrations_option
@click.option(
    "--suite", "suite_file", type=click.Path(exists=True, dir_okay=False), help="The suite file, if it had one."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    certificate: Path,
    address: str,
    tools_file: str | None,
    calibrations_path: Path,
    suite_file: str | None,
    as_json: bool,
) -> None:
    """Compute the report of CERTIFICATE again from the store: spans read, rules and checks run, numbers counted.

    CERTIFICATE is the file that 'spanproof report --certificate FILE' wrote. Give the suite, the catalogue of tools and
    the calibrations that the report was made with. What a verifier saw at a live destination cannot be seen again; its
    stored word counts.

    Exit codes: 0 the same byte for byte, 1 something differs, 2 could not run.
    """
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.model.calibrations import read_calibrations
    from spanproof_evaluators.model.certificates import read_certificate
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean, plural
    from spanproof_evaluators.runner.certifying import as_text, differences, recompute

    before = read_certificate(certificate)
    if before.suite is not None and suite_file is None:
        raise FilterError(f"the report was made with suite {before.suite}: give its file with --suite")
    suite, _ = split_suites((suite_file,) if suite_file else ())
    with open_existing(address) as store:
        now = recompute(store, before, suite, read_tools(tools_file), read_calibrations(calibrations_path))
    found = differences(before, now)
    same = not found and as_text(now) == certificate.read_text(encoding="utf-8")
    if as_json:
        click.echo(
            line(
                {
                    "same": same,
                    "certificate": before.certificate,
                    "recomputed": now.certificate,
                    "differences": list(found),
                }
            )
        )
    elif same:
        click.echo(f"the same byte for byte: {plural(len(now.trials), 'trial')}, certificate {now.certificate}")
    else:
        for difference in found or ["the file was changed, and the numbers in it were not"]:
            click.echo(clean(difference))
    context.exit(0 if same else 1)
