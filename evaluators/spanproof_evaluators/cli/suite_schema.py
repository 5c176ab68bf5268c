"""spanproof suite schema: what a file of tasks or of results may say."""

from typing import Final

import click

FORMATS: Final = ("golden_pl", "golden_en", "agent_fall", "eval_case", "repo_task")
"""The formats of tasks, here by name alone: the models behind them load when they are asked for."""


@click.command("schema", short_help="The JSON Schema of suites, and of every other format of tasks.")
@click.option(
    "--of",
    "what",
    type=click.Choice(["suite", *FORMATS]),
    default="suite",
    show_default=True,
    help="Of suites, or of one task in a format that people have.",
)
def schema(what: str) -> None:
    """Print a JSON Schema, for editors and CI.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.model.canonical import Layout, plain, written
    from spanproof_evaluators.model.suite_formats import FORMATS as FOUND
    from spanproof_evaluators.model.suites import Suite

    model = Suite if what == "suite" else FOUND[what].model
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    click.echo(written(plain(found), Layout(ensure_ascii=True)))
