"""The report in the terminal: the verdict first, then the numbers it rests on, then what proves it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.assessments import Assessment, by_urgency
from spanproof_evaluators.model.reports import Report, VariantReport
from spanproof_evaluators.reports.isolation import isolation_words
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.proof import Proof, proof
from spanproof_evaluators.reports.sections import rest, signals, together
from spanproof_evaluators.reports.terminal._gates import print_gates
from spanproof_evaluators.reports.terminal._layout import (
    padded,
    print_block,
    print_heading,
    print_line,
    print_text,
    spans,
    state,
    value,
    words,
)
from spanproof_evaluators.reports.terminal._measures import print_section
from spanproof_evaluators.reports.trust import card_line
from spanproof_evaluators.reports.wording import gate_says, marks, plural

LEGEND: Final = "n/d (value), 95 % interval, and what is unavailable or left out"
SHOWN: Final = 10
"""How many trials are proven in the terminal; the HTML report and JSON have all."""

_LONGEST_NAME: Final = 60


def print_report(console: Console, report: Report, *, verbose: bool = False) -> None:
    """Print inversions and decisions, the signals, the gates, what proves them, and the other measures.

    Args:
        console: where to.
        report: what to print.
        verbose: with everything that stands beside a number, why each gate is there, and every trial's proof.
    """
    title = plural(len(report.assessments), "trial")
    if report.suite_id is not None:
        title += f" of suite {report.suite_id} ({(report.suite_hash or '')[:12]})"
    print_text(console, words(title, "bold"))
    if report.filter and report.filter not in (f"suite {report.suite_id}", f"suite={report.suite_id}"):
        print_text(console, words(f"where {report.filter}", "dim", 400))
    if (shut := isolation_words(report.assessments)) is not None:
        print_text(console, words(shut, "dim", 400))
    if report.trust is not None:
        print_text(console, words(card_line(report.trust, report.suite_hash), "dim", 400))
    print_line(console, Text())
    for sentence in report.inversions:
        print_text(console, Text.assemble(("Inversion. ", "bold yellow"), words(sentence, "", 600)))
        print_line(console, Text())
    for sentence in judge_flags(report.assessments):
        print_text(console, Text.assemble(("Judge. ", "bold yellow"), words(sentence, "", 600)))
        print_line(console, Text())
    _decisions(console, report.variants)
    print_section(console, replace(signals(), about=LEGEND), report, verbose=verbose)
    print_section(console, together(), report, verbose=verbose)
    print_gates(console, report.variants, verbose=verbose)
    _proofs(console, report.assessments, verbose=verbose)
    for section in rest(report):
        print_section(console, section, report, verbose=verbose)
    print_line(console, Text())
    print_block(console, [Text("certificate", style="dim")], [Text(report.certificate, style="dim")], indent=13)


def _decisions(console: Console, variants: Sequence[VariantReport]) -> None:
    """Print the decision on each variant, and the gate that decided."""
    names = [words(variant.name, "bold", _LONGEST_NAME) for variant in variants]
    widest = max((name.cell_len for name in names), default=0)
    longest = max((len(variant.decision.decision) for variant in variants), default=0)
    for name, variant in zip(names, variants, strict=True):
        decision = variant.decision
        why = Text("every gate passes")
        if decision.decided_by is not None:
            (decided,) = (said for said in decision.gates if said.gate.id == decision.decided_by)
            why = words(f"at gate {decision.decided_by}: {gate_says(decided)}")
        size = Text(f"{plural(variant.trials, 'trial')} of {plural(variant.tasks, 'task')}", style="dim")
        verdict = padded(state(decision.decision, upper=True), longest)
        print_block(console, [], [padded(name, widest), verdict, why, size], indent=0)


def _proofs(console: Console, assessments: Sequence[Assessment], *, verbose: bool) -> None:
    """Print every trial that needs a look, with what proves it."""
    listed = [one for one in by_urgency(assessments) if marks(one)]
    if not listed:
        return
    print_heading(
        console, "What proves it", f"{plural(len(listed), 'trial')} to look at; 'spanproof show TRIAL' shows one whole"
    )
    shown = listed if verbose else listed[:SHOWN]
    for one in shown:
        print_line(console, Text())
        mark = Text(", ".join(marks(one)), style="bold red" if one.urgency < 2 else "yellow")
        print_block(console, [], [words(one.trial.trial_id, "bold"), mark], indent=0)
        for piece in proof(one):
            if piece.central or verbose:
                _piece(console, piece)
    if len(shown) < len(listed):
        print_line(console, Text())
        print_text(
            console, Text(f"and {len(listed) - len(shown)} more: -v, --html or --json shows all", style="yellow")
        )


def _piece(console: Console, piece: Proof) -> None:
    """Print one piece of evidence."""
    if piece.name:
        told = Text.assemble(words(piece.name), " ", state(piece.state), ": ", words(piece.what, "", 300))
    else:
        told = Text.assemble(
            state(piece.state), "," if piece.kind == "claimed" else ":", " ", words(piece.what, "", 300)
        )
    chunks = [told, *(value(piece.seen, 400, "dim") if piece.seen else []), *spans(piece.span_ids)]
    print_block(console, [Text(f"  {piece.kind}", style="dim")], chunks, indent=11)
