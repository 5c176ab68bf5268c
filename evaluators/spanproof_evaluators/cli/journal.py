"""spanproof journal: failures, and the layer that each points to."""

from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    filter_options,
    json_option,
    open_existing,
    read_filter,
    split_suites,
    store_option,
)
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_evaluators.runner.mining.journal import Entry

LAYERS = ("specification", "context", "environment", "verification", "state")


@click.group("journal", short_help="Failures, and the layer that each points to.")
def command() -> None:
    """The journal of failures: what was asked, what came of it, and which of five layers it points to.

    A rule suggests a layer, and a person confirms one.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("list")
@click.option("--markdown", is_flag=True, help="The table of three columns: task, result, layer.")
@store_option
@filter_options
@json_option
def list_(
    markdown: bool, address: str, as_json: bool, suites: tuple[str, ...], **given: tuple[str, ...] | str | None
) -> None:
    """List the failed trials with the layer that each points to, and count them by layer.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.model.canonical import plain
    from spanproof_evaluators.model.result_files.journals import journal_table
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import clean
    from spanproof_evaluators.runner.mining.journal import counts, rows

    entries = _entries(address, suites, given)
    if as_json:
        for entry in entries:
            click.echo(line(plain(_told(entry))))
        return
    if markdown:
        click.echo(clean(journal_table(rows(entries))), nl=False)
    else:
        for entry in entries:
            sure = "" if entry.confirmed is not None else "?"
            click.echo(
                clean(f"{entry.one.trial.trial_id}  {entry.layer or 'none'}{sure}  {entry.task}  {entry.result}")
            )
            click.echo(clean(f"    {entry.suggestion.rule}: {entry.suggestion.why}"[:300]))
    for name, found in counts(entries).items():
        if any(found.values()):
            tell(f"{name}: {found['confirmed']} confirmed, {found['suggested']} suggested")
    if not entries:
        tell("no failure is known. 'spanproof evaluate' finds them")


@command.command("confirm")
@click.argument("trial")
@click.argument("layer", type=click.Choice(LAYERS))
@store_option
def confirm(trial: str, layer: str, address: str) -> None:
    """Say which LAYER the failure of TRIAL points to. A later word takes an earlier one's place.

    Exit codes: 0 done, 2 could not run.
    """
    from datetime import UTC, datetime

    from spanproof_evaluators.model.journal import Confirmed, path_of
    from spanproof_evaluators.model.journal import confirm as write

    entry = _entry(address, trial)
    word = Confirmed.of(
        trial=entry.one.trial.trial_id,
        layer=layer,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        suggested=entry.suggestion.layer,
    )
    path = path_of(address)
    write(path, word)
    tell(f"{word.trial}: {layer} (suggested: {entry.suggestion.layer or 'none'}), in {path}")


@command.command("to-task")
@click.argument("trial")
@click.option("--id", "task_id", help="The task's id; by default the trial's.")
@store_option
def to_task(trial: str, task_id: str | None, address: str) -> None:
    """Print the failure of TRIAL as a task to be finished: start state and checks are for a person to write.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.reports.drafts import drafts_yaml
    from spanproof_evaluators.runner.mining.candidates import draft
    from spanproof_evaluators.runner.mining.journal import as_candidate

    entry = _entry(address, trial)
    found = draft(as_candidate(entry), task_id or entry.one.trial.trial_id)
    click.echo(drafts_yaml([found]), nl=False)


def _entries(address: str, suites: tuple[str, ...], given: dict[str, tuple[str, ...] | str | None]) -> "list[Entry]":
    from spanproof_evaluators.model.journal import path_of, read_confirmed
    from spanproof_evaluators.runner import assess
    from spanproof_evaluators.runner.mining.journal import journal

    suite, labels = split_suites(suites)
    confirmed = read_confirmed(path_of(address))
    with open_existing(address) as store:
        return journal(assess(store, read_filter({**given, "suites": labels}), suite), confirmed)


def _entry(address: str, trial: str) -> "Entry":
    """Return the failure of one trial, by its id or the beginning of it.

    Raises:
        ChoiceError: no failure is called so, or several are.
    """
    from spanproof_evaluators.errors import ChoiceError

    every = _entries(address, (), {})
    exact = [entry for entry in every if entry.one.trial.trial_id == trial]
    found = exact or [entry for entry in every if entry.one.trial.trial_id.startswith(trial)]
    if len(found) != 1:
        raise ChoiceError(trial, [entry.one.trial.trial_id for entry in found])
    return found[0]


def _told(entry: "Entry") -> dict[str, object]:
    return {
        "trial_id": entry.one.trial.trial_id,
        "task": entry.task,
        "result": entry.result,
        "layer": entry.layer,
        "confirmed": entry.confirmed is not None,
        "suggested": entry.suggestion.layer,
        "rule": entry.suggestion.rule,
        "why": entry.suggestion.why,
    }
