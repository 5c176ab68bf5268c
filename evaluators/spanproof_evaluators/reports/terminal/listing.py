"""A list of trials in the terminal: one line each where that fits, else two."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.reports.terminal._layout import COLORS, padded, print_block, print_line, print_text, words
from spanproof_evaluators.reports.wording import because, effects, marks, one_line, outcome, plural, yes_no

_LONGEST_ID: Final = 120
_LONGEST_NAME: Final = 40
_WIDE: Final = 160
"""From here on, what is no terminal gets one line a trial, however long."""

_COLUMNS: Final = ("look at", "trial", "claim", "outcome", "effects", "solved", "status", "task", "variant")


def print_trials(
    console: Console, assessments: Sequence[Assessment], *, marked: Mapping[str, int] | None = None, total: int = 0
) -> None:
    """Print how many trials need a look, then every trial; ids and marks stay whole at any width.

    Where nobody watches (a pipe, a file) each trial is one line, so that tools can search lines.

    Args:
        console: where to.
        assessments: the trials that are listed.
        marked: how many trials carry which mark, where not all of them are listed.
        total: how many there are then.
    """
    found = Counter(mark for one in assessments for mark in marks(one)) if marked is None else marked
    print_text(console, _summary(found, total or len(assessments)))
    rows = [_cells(one) for one in assessments]
    kept = [at for at in range(len(_COLUMNS)) if any(row[at] for row in rows)]
    widths = {at: max(len(_COLUMNS[at]), *(row[at].cell_len for row in rows)) for at in kept}
    fits = sum(widths.values()) + 2 * (len(kept) - 1) <= console.width
    if fits or (console.width >= _WIDE and not console.is_terminal):
        header = tuple(Text(name, style="dim") for name in _COLUMNS)
        for row in (header, *rows):
            line = Text()
            for at in kept:
                line.append_text(padded(row[at], widths[at] + 2))
            print_line(console, line)
        return
    for one, row in zip(assessments, rows, strict=True):
        print_block(console, [], _head(one, row), indent=0)
        _, _, claim, ending, changes, solved, status, _, _ = row
        told = [_named("claim", claim), _named("outcome", ending), _named("effects", changes), _named("solved", solved)]
        print_block(console, [], [*told, *([status] if one.trial.status != "complete" else [])], indent=2)


def _summary(found: Mapping[str, int], total: int) -> Text:
    """Return how many trials there are and how many of them carry which mark."""
    told = [
        plural(found.get("FALSE SUCCESS", 0), "false success", "false successes"),
        plural(found.get("UNKNOWN EFFECT", 0), "with an unknown effect", "with unknown effects"),
        plural(found.get("UNPROVEN", 0), "unproven claim"),
    ]
    return Text.assemble((plural(total, "trial"), "bold"), f": {', '.join(told)}")


def _head(one: Assessment, row: Sequence[Text]) -> list[Text]:
    """Return marks, id, and the labels that the id does not hold."""
    trial = one.trial
    labels = [
        f"{name} {one_line(label, _LONGEST_NAME)}"
        for name, label in (("task", trial.task_id), ("variant", trial.variant))
        if label and label not in trial.trial_id
    ]
    return [row[0], row[1], *(Text(label, style="dim") for label in labels)]


def _cells(one: Assessment) -> tuple[Text, ...]:
    """Return a trial column by column."""
    trial = one.trial
    status = trial.status + (f" ({because(trial.status_reason)})" if trial.status_reason else "")
    return (
        Text(", ".join(marks(one)), style="bold red" if one.urgency < 2 else "yellow"),
        words(trial.trial_id, "bold", _LONGEST_ID),
        Text(trial.claim.state, style="yellow" if one.unproven else ""),
        words(outcome(one), COLORS.get(one.outcome.state, ""), 60),
        Text(effects(one)),
        Text(yes_no(one.solved)),
        words(status, "", 60),
        words(trial.task_id or "", "", _LONGEST_NAME),
        words(trial.variant or "", "", _LONGEST_NAME),
    )


def _named(name: str, cell: Text) -> Text:
    return Text.assemble((f"{name} ", "dim"), cell)
