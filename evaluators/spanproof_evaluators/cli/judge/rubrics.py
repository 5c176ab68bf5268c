"""spanproof judge rubrics: what judges are asked; the rubrics that come with the product, and what a file may say."""

import click

from spanproof_evaluators.cli.options import json_option
from spanproof_evaluators.cli.output import tell


@click.command("rubrics", short_help="List rubrics, print one, or print the schema of rubric files.")
@click.argument("name", required=False)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of rubric files, for editors and CI.")
@json_option
def command(name: str | None, as_schema: bool, as_json: bool) -> None:
    """List the rubrics that come with the product; with a NAME or a file, print that one and its hash.

    A rubric of your own begins as a copy: 'spanproof judge rubrics grounded --json > mine.json'.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.judges.rubrics import find_rubric, shipped
    from spanproof_evaluators.model.canonical import Layout, plain, written
    from spanproof_evaluators.model.rubrics import schema
    from spanproof_evaluators.reports.wording import plural

    if as_schema:
        click.echo(written(plain(schema()), Layout()))
        return
    rubrics = [find_rubric(name)] if name else list(shipped().values())
    if as_json:
        told = [plain(one.model_dump(mode="json", exclude_defaults=True)) for one in rubrics]
        if name:
            click.echo(written(told[0], Layout()))
            tell(rubrics[0].hash)
            return
        hashed = [{"hash": one.hash, "rubric": each} for one, each in zip(rubrics, told, strict=True)]
        click.echo(written(plain(hashed), Layout()))
        return
    for one in rubrics:
        what = "the final diff" if one.looks_at == "diff" else "the answer"
        source = " and a source" if one.uses_source else ""
        click.echo(f"{one.id}  {one.hash[:12]}  {plural(len(one.criteria), 'criterion', 'criteria')} on {what}{source}")
        if one.about:
            click.echo(f"  {one.about}")
        if name:
            for criterion in one.criteria:
                kind = "required" if criterion.required else "told only"
                click.echo(
                    f"  - {criterion.id} ({' | '.join(criterion.answers)}; passes on {criterion.passes_on}; {kind})"
                )
                click.echo(f"    {criterion.question}")
                if criterion.guidance:
                    click.echo(f"    {criterion.guidance.strip()}")
