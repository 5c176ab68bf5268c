"""spanproof show: one trial, whole."""

from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    Unit,
    json_option,
    open_existing,
    read_tools,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from spanproof_collector.model.tool_catalogue import ToolCatalogue
    from spanproof_collector.store import StepRow, Store
    from spanproof_evaluators.model.assessments import Assessment
    from spanproof_evaluators.model.canonical import Plain


@click.command("show", short_help="Show one trial whole.")
@click.argument("trial")
@store_option
@unit_option
@tools_option
@click.option("--steps", is_flag=True, help="Only list the steps, page by page, without reading any payload.")
@click.option("--after", metavar="CURSOR", help="With --steps: the next page, as the one before has named it.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Steps of a page.")
@json_option
def command(
    trial: str,
    address: str,
    unit: Unit,
    tools_file: str | None,
    steps: bool,
    after: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show one TRIAL: steps, calls, effects, receipts, claim, outcome. The beginning of an id is enough.

    A trial of very many steps is better looked at with --steps: those of its traces, from the projection alone.

    Exit codes: 0 done, 2 could not run.
    """
    if steps:
        _list_steps(trial, address, unit, after, limit, as_json=as_json)
        return
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        one = _find(store, trial, unit, catalogue)
    if as_json:
        from spanproof_evaluators.reports.machine import line, result_json, trial_json

        found = trial_json(one)
        found["results"] = [result_json(one.trial.trial_id, result) for result in one.all_results]
        click.echo(line(found))
        return
    from spanproof_evaluators.reports.terminal import print_trial

    print_trial(console(), one)


def _find(store: "Store", asked: str, unit: Unit, catalogue: "ToolCatalogue") -> "Assessment":
    """Return the one trial of that id; else the one whose trial, session or trace id begins so.

    Raises:
        ChoiceError: none or several.
    """
    from spanproof_collector.model.filters import Filter
    from spanproof_evaluators.errors import ChoiceError
    from spanproof_evaluators.runner import assess

    found = list(assess(store, Filter(trials=(asked,)), unit=unit, catalogue=catalogue))
    if not found:
        found = [
            one
            for one in assess(store, Filter(), unit=unit, catalogue=catalogue)
            if any(
                name is not None and name.startswith(asked)
                for name in (one.trial.trial_id, one.trial.session_id, *one.trial.trace_ids)
            )
        ]
    if len(found) != 1:
        raise ChoiceError(asked, [one.trial.trial_id for one in found])
    return found[0]


def _list_steps(asked: str, address: str, unit: Unit, after: str | None, limit: int, *, as_json: bool) -> None:
    """Print one page of the steps of the traces that the trial has a part in, trace by trace."""
    from spanproof_collector.store import StepCursor, read_steps
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.reports.machine import line
    from spanproof_evaluators.reports.wording import one_line

    begun: tuple[str, StepCursor] | None = None
    if after is not None:
        trace_id, _, rest = after.partition(":")
        start, _, span_id = rest.partition(":")
        if not (start.isascii() and start.isdigit()):
            raise FilterError(f"--after {after!r} is no cursor: give what the page before ended with")
        begun = trace_id, StepCursor(int(start), span_id)
    shown, last = 0, ""
    with open_existing(address) as store:
        traces = _traces_of(store, asked, unit)
        ids = [trace_id for _, trace_id in traces]
        if begun is not None and begun[0] not in ids:
            raise FilterError(f"--after {after!r} is no cursor of this trial")
        for project, trace_id in traces[ids.index(begun[0]) if begun else 0 :]:
            cursor = begun[1] if begun and begun[0] == trace_id else None
            for row in read_steps(store, project, trace_id, after=cursor, limit=limit - shown + 1):
                if shown == limit:
                    tell(f"more: --after {last}")
                    return
                shown += 1
                last = f"{trace_id}:{row.start}:{row.span_id}"
                if as_json:
                    click.echo(line(_step_json(row)))
                else:
                    failed = "failed  " if row.failed else ""
                    click.echo(one_line(f"{row.span_id}  {row.kind:<10}  {failed}{row.name}", 200))


def _step_json(row: "StepRow") -> "dict[str, Plain]":
    """Return a step of a page."""
    return {
        "trace_id": row.trace_id,
        "span_id": row.span_id,
        "parent_span_id": row.parent_span_id or None,
        "kind": row.kind,
        "name": row.name,
        "started_at": str(row.start),
        "ended_at": str(row.end),
        "failed": row.failed,
    }


def _traces_of(store: "Store", asked: str, unit: Unit) -> list[tuple[str, str]]:
    """Return the traces, in order of their start, of the one component that is known by this id or its beginning.

    Raises:
        ChoiceError: none or several.
    """
    from spanproof_collector.trials import list_components
    from spanproof_evaluators.errors import ChoiceError

    groups = [[trace for trace in group if not trace.loose] for group in list_components(store, unit=unit).components]
    for fits in (asked.__eq__, lambda name: name.startswith(asked)):
        found = [
            group for group in groups if any(fits(name) for t in group for name in (t.trace_id, *t.sessions, *t.labels))
        ]
        if len(found) == 1:
            (group,) = found
            # Of a component that holds several trials, those traces that the name is on.
            own = [t for t in group if any(fits(name) for name in (t.trace_id, *t.sessions, *t.labels))]
            return [trace.key for trace in own]
        if found:
            break
    raise ChoiceError(asked, [group[0].trace_id for group in found])
