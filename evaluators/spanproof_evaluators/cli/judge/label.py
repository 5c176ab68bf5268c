"""spanproof judge label: people say what is right, blind to what a judge said."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    read_tools,
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import tell

if TYPE_CHECKING:
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.model.labels import Item, Labels, Line, Rater, RaterKind
    from spanproof_evaluators.model.rubrics import Answer, Criterion, Rubric
    from spanproof_evaluators.runner.labeling import LabelBook, Strata

_KEYS: Final[Mapping[str, "Answer"]] = MappingProxyType(
    {"y": "yes", "n": "no", "p": "partially", "a": "not_applicable", "?": "unsure"}
)
_SKIP, _UNDO, _QUIT = "s", "u", "q"
_LINES: Final = 400
"""Lines of a text that are shown of it."""


@click.command("label", short_help="Label answers as a person, blind to the judge's verdict.")
@click.argument("labels_file", metavar="LABELS", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@filter_options
@unit_option
@tools_option
@click.option("--rubric", "rubric_name", metavar="NAME|FILE", help="What is asked. Needed to begin a new file.")
@click.option("--sources", "sources_file", type=click.Path(path_type=Path), metavar="FILE", help="Texts and sources.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="How many answers to draw; all without it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option(
    "--stratify",
    type=click.Choice(["variant", "agent", "task", "category"]),
    help="Draw from each of these in proportion to its size.",
)
@click.option("--rater", "rater_name", metavar="NAME", help="Who labels.")
@click.option("--rater-kind", type=click.Choice(["human", "model", "construction"]), help="Of labels from a file.")
@click.option(
    "--from", "from_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Import JSONL or CSV."
)
@json_option
def command(
    labels_file: Path,
    address: str,
    unit: Unit,
    tools_file: str | None,
    rubric_name: str | None,
    sources_file: Path | None,
    sample: int | None,
    seed: int,
    stratify: "Strata | None",
    rater_name: str | None,
    rater_kind: "RaterKind | None",
    from_file: Path | None,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Draw answers of stored trials at random and label them, question by question, as a judge is asked them.

    LABELS is a file of JSON lines. Where it is missing, answers are drawn from the store; where it is there, labeling
    goes on in it, and several raters may, one after another. A rater sees what a judge sees: task, source, answer and
    questions.

    With --from labels come from a file and nothing is asked. What a model said, or what is known because the item was
    made so, is not called human: say --rater-kind. With --json the sheet is told: items, and who labeled how many.

    Keys: y yes, n no, p partially, a does not apply, ? unsure; s skips the answer, u takes the last one back, q ends.
    Each label is on the disk before the next question.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.model.labels import Rater
    from spanproof_evaluators.runner.labeling import LabelBook, imported

    if labels_file.is_file():
        book = LabelBook(labels_file)
        _same_rubric(labels_file, rubric_name, book.labels)
        if sample is not None or stratify is not None:
            tell(f"{labels_file} is there: its {len(book.labels.items)} items stay, nothing is drawn anew")
    else:
        if rubric_name is None:
            raise FilterError(f"{labels_file} is new: name the rubric with --rubric")
        lines = _draw(address, unit, tools_file, rubric_name, sources_file, sample, seed, stratify, suites, given)
        book = LabelBook.begin(labels_file, lines)
    with book:
        if from_file is not None:
            rater = Rater(kind=rater_kind or "human", name=rater_name) if rater_name else None
            new = imported(from_file, book.labels, rater, rater_kind)
            book.add(new)
            tell(f"{len(new)} labels taken from {from_file}")
        elif not as_json:
            _by_hand(book, rater_name, rater_kind)
        if as_json:
            from spanproof_evaluators.reports.machine import line

            click.echo(line(_told(book.labels)))


def _draw(
    address: str,
    unit: Unit,
    tools_file: str | None,
    rubric_name: str,
    sources_file: Path | None,
    sample: int | None,
    seed: int,
    stratify: "Strata | None",
    suites: tuple[str, ...],
    given: dict[str, tuple[str, ...] | str | None],
) -> "list[Line]":
    """Return the lines of a new file.

    Raises:
        NoTrialsError: no trial that is asked for has what a judge could be shown.
    """
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.judges.rubrics import find_rubric
    from spanproof_evaluators.model.judge_sources import read_judge_sources
    from spanproof_evaluators.runner.labeling import candidates, draw

    rubric = find_rubric(rubric_name)
    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    declared = read_judge_sources(sources_file) if sources_file else None
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        found = candidates(
            store, wanted, rubric, suite=suite, declared=declared, by=stratify, unit=unit, catalogue=catalogue
        )
    if not found:
        raise NoTrialsError(describe(wanted))
    return draw(
        found,
        rubric,
        size=sample,
        seed=seed,
        by=stratify,
        described=describe(wanted),
        suite=suite,
        at=time.time_ns(),
    )


def _same_rubric(path: Path, rubric_name: str | None, labels: "Labels") -> None:
    """Check that a file of labels is of the rubric that is named.

    Raises:
        FilterError: it is of another, or of another version of it.
    """
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.judges.rubrics import find_rubric

    if rubric_name is not None and find_rubric(rubric_name).hash != labels.sheet.rubric_hash:
        raise FilterError(
            f"{path} is of another version of a rubric ({labels.sheet.rubric.id}): labels go with the questions that "
            "were asked. Begin a new file, or leave --rubric out"
        )


def _by_hand(book: "LabelBook", rater_name: str | None, rater_kind: "RaterKind | None") -> None:
    """Ask a person.

    Raises:
        FilterError: nobody is there to ask, or nobody says who it is.
    """
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.model.labels import Rater, state_of

    if rater_name is None:
        raise FilterError("say who labels: --rater NAME. Or bring labels with --from FILE")
    if rater_kind not in (None, "human"):
        raise FilterError(
            f"who labels in a terminal is a person; labels of the kind {rater_kind} come with --from FILE"
        )
    if not sys.stdin.isatty():
        raise FilterError("labels are given in a terminal, and this is none. Bring them with --from FILE")
    rater = Rater(kind="human", name=rater_name)
    rubric = book.labels.sheet.rubric
    while left := book.labels.left(rater):
        item = left[0]
        done = len(book.labels.items) - len(left)
        _show(item, done + 1, len(book.labels.items))
        said = _ask_all(rubric)
        if said == _QUIT:
            break
        if said == _UNDO:
            click.echo("taken back" if book.undo(rater) else "there is nothing to take back")
        elif said == _SKIP or isinstance(said, str):
            book.label(item, rater, {}, "skipped")
        else:
            book.label(item, rater, said, state_of(rubric, said))
    total = len(book.labels.items)
    click.echo(f"{total - len(book.labels.left(rater))} of {total} labeled by {rater.name}")


def _show(item: "Item", number: int, of: int) -> None:
    """Show what a judge is shown, control characters spelled out: an answer could draw on the terminal."""
    click.echo(f"\n=== {number} of {of} ===")
    parts = {"TASK": item.task, "SOURCE": item.source, item.looks_at.upper(): item.answer}
    for name, text in parts.items():
        if text is None:
            continue
        lines = text.splitlines() or [""]
        click.echo(click.style(f"--- {name}", bold=True))
        for each in lines[:_LINES]:
            click.echo(f"  {_visible(each)}")
        if len(lines) > _LINES:
            click.echo(f"  ({len(lines) - _LINES} lines more, in the file of labels)")


def _visible(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else f"\\u{ord(one):04x}" for one in text)


def _ask_all(rubric: "Rubric") -> "dict[str, Answer] | str":
    """Return the answers to every question, or the key that ends the item."""
    answers: dict[str, Answer] = {}
    for criterion in rubric.criteria:
        said = _ask(criterion)
        if said in (_SKIP, _UNDO, _QUIT):
            return said
        answers[criterion.id] = _KEYS[said]
    return answers


def _ask(criterion: "Criterion") -> str:
    """Return the key that a person pressed: one that means something here."""
    click.echo(click.style(criterion.question, bold=True))
    if criterion.guidance:
        click.echo(f"  {criterion.guidance.strip()}")
    allowed = [key for key, answer in _KEYS.items() if answer in (*criterion.answers, "unsure")]
    told = ", ".join(f"{key} {_KEYS[key]}" for key in allowed)
    asking = f"[{told}; s skip, u undo, q quit]"
    while True:
        try:
            said = str(click.prompt(asking, prompt_suffix=" ", show_default=False, default="")).strip().lower()
        except click.Abort:
            return _QUIT
        if said in (*allowed, _SKIP, _UNDO, _QUIT):
            return said


def _told(labels: "Labels") -> "dict[str, Plain]":
    """Return the sheet as JSON values: what a tool of your own needs to ask people, and nothing of what judges said."""
    from spanproof_evaluators.model.canonical import plain

    def count(rater: "Rater") -> "Plain":
        mine = [one.state for one in labels.standing.values() if one.rater == rater]
        states = {state: mine.count(state) for state in ("pass", "fail", "unsure", "skipped")}
        return plain({"kind": rater.kind, "name": rater.name, **states, "left": len(labels.left(rater))})

    return {
        "rubric": {"id": labels.sheet.rubric.id, "hash": labels.sheet.rubric_hash},
        "criteria": plain([one.model_dump(mode="json") for one in labels.sheet.rubric.criteria]),
        "population": plain(labels.sheet.population.model_dump(mode="json", exclude={"inputs"})),
        "sampling": plain(labels.sheet.sampling.model_dump(mode="json")),
        "raters": [count(one) for one in labels.raters()],
        "items": [plain(one.model_dump(mode="json", exclude={"kind", "families"})) for one in labels.items.values()],
    }
