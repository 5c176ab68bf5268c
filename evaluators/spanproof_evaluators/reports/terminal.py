"""The report and its trials in the terminal. Everything from a trace is text, never markup."""

import json
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from spanproof_evaluators.model.assessments import Assessment, by_urgency
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.decisions import Verdict
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.reports.proof import proof, unmatched
from spanproof_evaluators.reports.wording import (
    BESIDE,
    SIGNALS,
    beside,
    claim,
    clean,
    effects,
    headline,
    one_line,
    outcome,
    why_listed,
    yes_no,
)

COLORS: dict[str, str] = {
    "pass": "green",
    "verified": "green",
    "fail": "bold red",
    "failed": "bold red",
    "inconclusive": "yellow",
    "unavailable": "yellow",
}


def _text(words: str, style: str = "") -> Text:
    return Text(clean(words), style=style)


def _verdict(decision: Verdict) -> Text:
    return Text(decision.upper(), style=COLORS[decision])


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(_text(column), overflow="fold")
    return table


def print_report(console: Console, report: Report) -> None:
    """Print the report: decisions, signals, gates, and the trials that need a look with their proof."""
    names = [variant.name for variant in report.variants]
    title = f"{len(report.assessments)} trials"
    if report.suite_id is not None:
        title += f" of suite {report.suite_id} ({(report.suite_hash or '')[:12]})"
    console.print(_text(title, "bold"))
    if report.filter:
        console.print(_text(f"where {report.filter}", "dim"))
    for sentence in report.inversions:
        console.print(_text(sentence, "bold yellow"))
    signals = _table("signal", *names)
    for group in (SIGNALS, BESIDE):
        for name, words in group.items():
            cells = []
            for variant in report.variants:
                measure = variant.measures[name]
                style = "yellow" if measure.value is None else ""
                cells.append(
                    Text.assemble(
                        (clean(headline(measure, variant.tasks)), style), "\n", (clean(beside(measure)), "dim")
                    )
                )
            signals.add_row(_text(words), *cells)
        signals.add_section()
    console.print(signals)
    gates = _table("gate", "asks", *names)
    for index, gate in enumerate(report.variants[0].decision.gates if report.variants else ()):
        told = [variant.decision.gates[index] for variant in report.variants]
        hard = "" if gate.gate.hard else " (soft)"
        gates.add_row(
            _text(f"{gate.gate.order} {gate.gate.id}{hard}"),
            _text(f"{gate.gate.measure} {gate.limit}", "dim"),
            *(Text.assemble(_verdict(one.decision), "\n", (clean(one.explanation), "dim")) for one in told),
        )
    gates.add_section()
    gates.add_row(
        _text("decision", "bold"),
        "",
        *(
            Text.assemble(
                _verdict(variant.decision.decision),
                f" at {variant.decision.decided_by}" if variant.decision.decided_by else "",
            )
            for variant in report.variants
        ),
    )
    console.print(gates)
    listed = [one for one in by_urgency(report.assessments) if why_listed(one)]
    if listed:
        console.print(_text("Trials that need a look", "bold"))
    for one in listed:
        console.print(_proof(one))
    console.print(_text(f"certificate {report.certificate}", "dim"))


def _proof(one: Assessment) -> Group:
    """Return a trial's evidence, line by line."""
    head = Text.assemble(
        (clean(one.trial.trial_id), "bold"),
        f" {clean(one.trial.variant or '')} {clean(one.trial.task_id or '')}: ",
        (why_listed(one), "bold red" if one.urgency < 2 else "yellow"),
    )
    return Group(
        head,
        *(
            Text.assemble("  ", clean(what), (f"  {one_line(seen)}", "dim"), (_spans(spans), "cyan"))
            for what, seen, spans in proof(one)
        ),
        "",
    )


def _spans(span_ids: Sequence[str]) -> str:
    return f"  span {', '.join(clean(span) for span in span_ids[:4])}" if span_ids else ""


def print_trials(console: Console, assessments: Sequence[Assessment]) -> None:
    """Print one line a trial; a claim of success without a verdict is marked UNPROVEN."""
    table = _table("trial", "task", "variant", "status", "claim", "outcome", "solved", "effects", "look at")
    for one in assessments:
        table.add_row(
            _text(one.trial.trial_id),
            _text(one.trial.task_id or ""),
            _text(one.trial.variant or ""),
            _text(one.trial.status + (f" ({one.trial.status_reason})" if one.trial.status_reason else "")),
            _text(claim(one), "yellow" if one.unproven else ""),
            _text(outcome(one), COLORS.get(one.outcome.state, "")),
            _text(yes_no(one.solved)),
            _text(effects(one)),
            _text(why_listed(one), "bold red" if one.urgency < 2 else "yellow"),
        )
    console.print(table)


def print_trial(console: Console, one: Assessment) -> None:
    """Print one trial whole: steps, calls with arguments and results, effects, receipts, claim, outcome, results."""
    trial = one.trial
    console.print(Text.assemble((clean(trial.trial_id), "bold"), f"  {trial.status}", f"  joined by {trial.joined_by}"))
    facts: list[tuple[str, str]] = [
        ("task", trial.task_id or "none"),
        ("variant", trial.variant or "none"),
        ("session", trial.session_id or "none"),
        ("traces", ", ".join(trial.trace_ids)),
        ("agent", " ".join(part for part in (trial.agent_name, trial.agent_version) if part) or "unnamed"),
        ("models", ", ".join(trial.models) or "none"),
        ("read by", ", ".join(trial.dialects) or "no dialect"),
        ("content", trial.completeness.content.replace("_", " ")),
        ("tokens", f"{_count(trial.usage.input_tokens)} in, {_count(trial.usage.output_tokens)} out"),
        ("cost", f"${trial.cost.usd:f}" if trial.cost.usd is not None else f"unavailable: {trial.cost.reason}"),
        ("solved", f"{yes_no(one.solved)}: {one.solved_reason}"),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, words in facts:
        grid.add_row(_text(name, "dim"), _text(one_line(words, 400)))
    console.print(grid)
    steps = _table("step", "kind", "name", "span", "ms")
    for number, step in enumerate(trial.steps, 1):
        steps.add_row(
            str(number),
            _text(step.kind),
            _text(step.name, "bold red" if step.failed else ""),
            _text(step.span_id, "cyan"),
            f"{max(step.ended_at - step.started_at, 0) / 1e6:.1f}" if step.ended_at else "",
        )
    console.print(steps)
    for call in trial.tool_calls:
        effect = call.effect
        console.print(
            Text.assemble(
                ("call ", "dim"),
                (clean(call.name), "bold"),
                f"  ran: {call.executed}  effect: {effect.effect_class}, ",
                (effect.state, COLORS.get(effect.state, "yellow" if effect.state == "unknown" else "")),
                f" ({clean(effect.reason)})",
                (_spans(call.span_ids), "cyan"),
            )
        )
        console.print(_recorded("  arguments ", call.arguments, call.arguments_source))
        console.print(_recorded("  result    ", call.result, call.result_source))
        if call.error:
            console.print(_text(f"  error     {one_line(call.error, 400)}", "red"))
        for receipt in call.receipts:
            seen = " ".join(part for part in (receipt.observer, receipt.observed) if part)
            console.print(_text(f"  receipt   {receipt.state}: {one_line(seen, 400)}  span {receipt.span_id}"))
    for receipt in unmatched(trial):
        console.print(_text(f"receipt of no call  {receipt.state}: {one_line(receipt.observed or '', 400)}", "yellow"))
    for wait in trial.waits:
        held = "stops the clock" if wait.legitimate else "does not stop the clock"
        console.print(_text(f"wait for {wait.owner or 'nobody'}: {one_line(wait.decision or 'no decision')}, {held}"))
    for refusal in trial.refusals:
        console.print(_text(f"refused by {refusal.by or 'nobody named'}: {one_line(refusal.reason or 'no reason')}"))
    for quality in trial.quality:
        console.print(_text(f"quality {quality.score} by {quality.grader} {quality.revision}"))
    for foreign in trial.foreign_results:
        told = foreign.label if foreign.score is None else f"{foreign.score} {foreign.label or ''}"
        console.print(_text(f"another tool says  {foreign.name}: {one_line(told or 'nothing', 400)}", "dim"))
    console.print(
        Text.assemble(
            ("claim ", "dim"),
            (clean(claim(one)), "yellow" if one.unproven else "bold"),
            f"  from {trial.claim.source}, rule: {clean(trial.claim.rule)}",
            (_spans([trial.claim.span_id] if trial.claim.span_id else []), "cyan"),
        )
    )
    if trial.final_answer is not None:
        console.print(_text(f"  {one_line(trial.final_answer, 600)}"))
    console.print(Text.assemble(("outcome ", "dim"), (clean(outcome(one)), COLORS.get(one.outcome.state, ""))))
    for check in one.outcome.checks:
        word = {True: "passed", False: "failed", None: f"unavailable ({check.reason})"}[check.passed]
        console.print(_text(f"  {word}: {check.name}: {check.seen}", "" if check.passed else "yellow"))
    for result in one.results:
        console.print(
            Text.assemble(
                ("result ", "dim"),
                clean(result.evaluator),
                " ",
                (result.state, COLORS.get(result.state, "")),
                f"  {clean(result.explanation or result.reason or '')}",
                (_spans(result.span_ids), "cyan"),
            )
        )


def _count(number: int | None) -> str:
    return "not recorded" if number is None else str(number)


def _recorded(name: str, value: Plain, source: str | None) -> Text:
    """Return a value of a call, or that nobody recorded it."""
    if source is None:
        return _text(f"{name}not recorded", "dim")
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _text(f"{name}{one_line(words, 400)}" + ("" if source == "span" else "  (from a message)"))
