"""A policy's decision in the terminal: each gate in order, what it saw, and how often it is wrong."""

from rich.console import Console
from rich.text import Text

from spanproof_evaluators.model.decisions import Decision, ErrorRates
from spanproof_evaluators.model.policies import Policy
from spanproof_evaluators.reports.terminal._layout import (
    print_block,
    print_heading,
    print_line,
    print_text,
    state,
    words,
)


def print_decision(console: Console, decision: Decision, policy: Policy, variant: str, baseline: str | None) -> None:
    """Print the decision, its gates and their error rates."""
    against = Text.assemble(" against ", words(baseline)) if baseline else Text()
    title = Text.assemble(state(decision.decision, upper=True), "  ", words(variant, "bold"), against)
    print_text(console, Text.assemble(title, "  ", words(f"policy {policy.id} ({policy.hash[:12]})", "dim")))
    if decision.decided_by:
        decided = next(one for one in decision.gates if one.gate.id == decision.decided_by)
        print_text(console, words(f"at gate {decided.gate.id}; owner: {decided.gate.owner}", "", 300))
    print_heading(console, "Gates", "in order: the first hard one that fails decides")
    for one in decision.gates:
        head = Text.assemble(f"{one.gate.order} ", words(one.gate.id))
        limit = words(one.limit + ("" if one.gate.hard else ", soft"), "dim")
        print_block(
            console, [head], [state(one.decision, upper=True), limit, words(one.explanation, "", 300)], indent=26
        )
        if one.errors is not None:
            print_text(console, words(_rates(one.errors), "dim", 400), indent=26)
    print_line(console, Text())


def _rates(errors: ErrorRates) -> str:
    """Return the error rates in words."""
    parts = [
        f"false alarm {_share(errors.false_alarm)}",
        f"power {_share(errors.power)}",
        "finds nothing in 80 of 100" if errors.mde is None else f"finds {_share(errors.mde)} in 80 of 100",
    ]
    return ", ".join(parts) + f" ({errors.basis})"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"
