"""A suite's trust card, in the terminal and as JSON."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.trust_cards import TaskTrust, TrustCard
from spanproof_evaluators.reports.wording import one_line, plural


def card_json(card: TrustCard, *, suite_hash: str | None = None) -> dict[str, Plain]:
    """Return a card as JSON; with ``suite_hash``, whether it is of that version of the suite."""
    told = plain(card.model_dump(mode="json"))
    assert isinstance(told, dict)
    return told | {
        "vacuous": list(card.vacuous),
        "killed": card.killed,
        "mutants": card.mutants,
        "problems": {one.task: list(one.problems) for one in card.tasks if one.problems},
        "current": None if suite_hash is None else card.suite_hash == suite_hash,
    }


def card_line(card: TrustCard, suite_hash: str | None) -> str:
    """Return a card in one line."""
    if suite_hash is not None and card.suite_hash != suite_hash:
        return "trust card: of another version of the suite. Make it anew: 'spanproof suite check SUITE --run'"
    grave = sum(one.grave for one in card.tasks)
    solved = sum(one.reference == "verified" for one in card.tasks)
    vacuous = f" ({', '.join(card.vacuous[:5])})" if card.vacuous else ""
    return (
        f"trust card: {plural(len(card.tasks), 'task')}, {grave} doubtful; {len(card.vacuous)} vacuous{vacuous}; "
        f"reference verified in {solved}; {card.killed} of {card.mutants} altered end states noticed; "
        f"isolation {card.isolation}"
    )


def print_card(console: Console, card: TrustCard) -> None:
    """Print a card: a line a task, and what it rests on."""
    table = Table(title=Text(f"Trust card of {one_line(card.suite)}"), title_justify="left", box=None, pad_edge=False)
    for name in ("task", "null", "dump", "reference", "mutants noticed", "impossible", "tampering"):
        table.add_column(name, overflow="fold")
    for one in card.tasks:
        table.add_row(*(Text(part) for part in _row(one)))
    console.print(table)
    for one in card.tasks:
        for problem in one.problems:
            console.print(Text(f"{one_line(one.task)}: {one_line(problem)}", style="bold" if one.grave else ""))
    console.print(Text(f"isolation in force: {card.isolation} ({card.isolation_says})"))


def _row(one: TaskTrust) -> list[str]:
    words = {"verified": "PASSES", "failed": "fails", "unavailable": "no verdict", None: "-"}
    mutants = f"{one.killed}/{one.mutants}" if one.mutants else "-"
    reference = {"verified": "passes", "failed": "FAILS"}.get(one.reference or "", words[one.reference])
    return [
        one_line(one.task),
        words[one.null],
        words[one.dump],
        reference,
        mutants,
        words[one.impossible],
        (one.tampering or "-").replace("unseen", "UNSEEN"),
    ]
