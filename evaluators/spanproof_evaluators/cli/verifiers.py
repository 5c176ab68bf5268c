"""spanproof verifiers: what a verifier file may say, and whether one says it."""

from pathlib import Path

import click

from spanproof_evaluators.cli.output import tell


@click.group("verifiers", short_help="What verifier files may say: their schema, and a check of one.")
def command() -> None:
    """Verifier files: checks attached to stored trials, for 'spanproof evaluate --verifiers FILE'.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("schema")
@click.option(
    "--of",
    "what",
    type=click.Choice(["verifiers", "suite"]),
    default="verifiers",
    show_default=True,
    help="The schema of verifier files, or of suites.",
)
def schema(what: str) -> None:
    """Print the JSON Schema of verifier files, for editors and CI.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.model.canonical import Layout, plain, written
    from spanproof_evaluators.model.suites import Suite
    from spanproof_evaluators.model.verifier_files import VerifierFile

    model = VerifierFile if what == "verifiers" else Suite
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    click.echo(written(plain(found), Layout(ensure_ascii=True)))


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Read a verifier FILE without running anything of it, and print its hash.

    Exit codes: 0 it is one, 2 it is none.
    """
    from spanproof_evaluators.reports.wording import plural
    from spanproof_evaluators.runner.verifier_files import VerifierFileChecks

    found = VerifierFileChecks.read(file)
    click.echo(found.file.hash)
    checks = sum(len(one.checks) for one in found.file.verifiers)
    tell(f"{found.name}: {plural(len(found.file.verifiers), 'verifier')}, {plural(checks, 'check')}")
