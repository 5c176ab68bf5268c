"""spanproof retention: how long each project is kept."""

import click

from spanproof_evaluators.cli.options import json_option, open_existing, store_option


@click.group("retention", short_help="Set how long each project is kept; delete what is older.")
def command() -> None:
    """Set how long each project is kept, and delete what is older. Where nothing is set, everything is kept for good.

    A server applies it by itself: when it starts, and every hour.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("set")
@store_option
@click.option("--project", default="", help="Which project; without it, every project for which nothing is set.")
@click.option("--days", type=click.IntRange(min=1), help="A trial goes when its newest span is older.")
@click.option("--keep", is_flag=True, help="Keep it for good.")
def set_(address: str, project: str, days: int | None, keep: bool) -> None:
    """Set for how many days a project is kept. Nothing goes at once: a server or 'apply' deletes later."""
    from spanproof_collector.retention import set_policy
    from spanproof_collector.store import open_store

    if (days is None) != keep:
        raise click.UsageError("say either --days N or --keep")
    with open_store(address) as store:
        set_policy(store, project, days)
    click.echo(_sentence(project, days))


@command.command("list")
@store_option
@json_option
def list_(address: str, as_json: bool) -> None:
    """List how long each project is kept."""
    from spanproof_collector.retention import read_policies
    from spanproof_evaluators.reports.machine import line

    with open_existing(address) as store:
        named = read_policies(store).named
    if as_json:
        click.echo(line([{"project": project or None, "days": days} for project, days in sorted(named.items())]))
        return
    for project, days in sorted(named.items()):
        click.echo(_sentence(project, days))
    if not named:
        click.echo("everything is kept for good")


@command.command("apply")
@store_option
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
@json_option
def apply(address: str, dry_run: bool, as_json: bool) -> None:
    """Delete now what is older than it is kept for.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_collector.retention import apply_retention
    from spanproof_evaluators.cli.delete import deleted_json, deleted_text
    from spanproof_evaluators.reports.machine import line

    with open_existing(address) as store:
        gone = apply_retention(store, dry_run=dry_run)
    click.echo(line(deleted_json(gone)) if as_json else deleted_text(gone))


def _sentence(project: str, days: int | None) -> str:
    which = f"project {project}" if project else "every other project"
    return f"{which}: kept {'for good' if days is None else f'for {days} days'}"
