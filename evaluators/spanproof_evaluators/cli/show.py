"""spanproof show: one trial, whole."""

from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import Unit, json_option, open_existing, store_option, unit_option
from spanproof_evaluators.cli.output import console

if TYPE_CHECKING:
    from spanproof_collector.store import Store
    from spanproof_evaluators.model.assessments import Assessment


@click.command("show", short_help="Show one trial whole.")
@click.argument("trial")
@store_option
@unit_option
@json_option
def command(trial: str, address: str, unit: Unit, as_json: bool) -> None:
    """Show one TRIAL: steps, calls, effects, receipts, claim, outcome. The beginning of an id is enough.

    Exit codes: 0 done, 2 could not run.
    """
    with open_existing(address) as store:
        one = _find(store, trial, unit)
    if as_json:
        from spanproof_evaluators.reports.machine import line, result_json, trial_json

        found = trial_json(one)
        found["results"] = [result_json(one.trial.trial_id, result) for result in one.all_results]
        click.echo(line(found))
        return
    from spanproof_evaluators.reports.terminal import print_trial

    print_trial(console(), one)


def _find(store: "Store", asked: str, unit: Unit) -> "Assessment":
    """Return the one trial of that id; else the one whose trial, session or trace id begins so.

    Raises:
        ChoiceError: none or several.
    """
    from spanproof_collector.model.filters import Filter
    from spanproof_evaluators.errors import ChoiceError
    from spanproof_evaluators.runner import assess

    found = list(assess(store, Filter(trials=(asked,)), unit=unit))
    if not found:
        found = [
            one
            for one in assess(store, Filter(), unit=unit)
            if any(
                name is not None and name.startswith(asked)
                for name in (one.trial.trial_id, one.trial.session_id, *one.trial.trace_ids)
            )
        ]
    if len(found) != 1:
        raise ChoiceError(asked, [one.trial.trial_id for one in found])
    return found[0]
