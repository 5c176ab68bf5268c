"""One trial in the terminal, whole: what it comes to first, then every step and call, then who said what of it."""

from rich.console import Console
from rich.text import Text

from spanproof_collector.model.trials import Receipt, ToolCall, Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Layout, Plain, plain, written
from spanproof_evaluators.reports.proof import claimed_by, place, seen, unmatched
from spanproof_evaluators.reports.terminal._effects import print_effects
from spanproof_evaluators.reports.terminal._layout import (
    COLORS,
    print_block,
    print_heading,
    print_line,
    spans,
    state,
    value,
    words,
)
from spanproof_evaluators.reports.wording import (
    EFFECT_OF_TRIAL,
    because,
    cost,
    effects,
    marks,
    outcome,
    plural,
    solved,
    unseen,
)

_LONGEST = 400
_WIDE = 11


def print_trial(console: Console, one: Assessment) -> None:
    """Print one trial whole: claim, outcome and effects, then steps, calls, checks and results."""
    trial = one.trial
    mark = Text(", ".join(marks(one)), style="bold red" if one.urgency < 2 else "yellow")
    print_block(console, [], [words(trial.trial_id, "bold"), mark], indent=0)
    _verdicts(console, one)
    _facts(console, trial)
    _steps(console, trial)
    print_heading(console, "Calls" if trial.tool_calls else "No call of a tool")
    for number, call in enumerate(trial.tool_calls, 1):
        _call(console, number, call)
    for receipt in unmatched(trial):
        chunks = [
            *_seen(receipt),
            words(place(receipt)),
            *spans([receipt.span_id]),
        ]
        _field(console, "receipt", [Text("of no call", style="yellow"), *chunks])
    print_effects(console, trial)
    _evidence(console, trial)
    if one.outcome.checks:
        print_heading(console, "Checks")
    for check in one.outcome.checks:
        word = {True: "verified", False: "failed", None: "unavailable"}[check.passed]
        about = check.seen if check.passed is not None else unseen(check)
        _field(
            console,
            {"verified": "passed"}.get(word, word),
            [words(check.name, COLORS[word], 300), *value(about, _LONGEST)],
        )
    if one.results:
        print_heading(console, "Rules")
    for result in one.results:
        told = words(f"{result.evaluator}: {result.explanation or because(result.reason or '')}", "", 300)
        _field(console, result.state, [told, *spans(result.span_ids)], COLORS.get(result.state, ""))
    if one.judges:
        print_heading(console, "Judges (they decide nothing)")
    for result in one.judges:
        told = words(f"{result.evaluator}: {result.explanation or because(result.reason or '')}", "", 600)
        _field(console, result.state, [told], COLORS.get(result.state, ""))


def _field(console: Console, name: str, chunks: list[Text], style: str = "dim") -> None:
    print_block(console, [Text(f"  {name}", style=style)], chunks, indent=2 + _WIDE)


def _verdicts(console: Console, one: Assessment) -> None:
    """Print what the trial comes to: the claim, the outcome, the effects."""
    trial = one.trial
    claimed = Text(trial.claim.state, style="yellow" if one.unproven else "bold")
    unproven = Text("UNPROVEN", style="yellow") if one.unproven else Text()
    where = spans([trial.claim.span_id] if trial.claim.span_id else [])
    _field(console, "claim", [claimed, unproven, words(claimed_by(trial)), *where])
    if trial.final_answer is not None:
        _field(console, "answer", value(trial.final_answer, 600))
    _field(console, "outcome", [words(outcome(one), COLORS.get(one.outcome.state, ""))])
    if one.outcome.effect_of_trial is not None:
        _field(console, "", [Text(EFFECT_OF_TRIAL[one.outcome.effect_of_trial][1], style="dim")])
    _field(console, "effects", [Text(effects(one))])
    _field(console, "solved", [words(solved(one))])


def _facts(console: Console, trial: Trial) -> None:
    """Print what the trial is."""
    gaps = trial.completeness
    status = trial.status + (f" ({because(trial.status_reason)})" if trial.status_reason else "")
    lacking = [
        *(["no root span"] if gaps.root_missing else []),
        *([f"{gaps.dropped_attributes} attributes dropped"] if gaps.dropped_attributes else []),
        *([f"{gaps.truncated_values} values cut short"] if gaps.truncated_values else []),
        *([f"{gaps.unclaimed_spans} spans that no dialect reads"] if gaps.unclaimed_spans else []),
        *([] if gaps.calls_whole else ["calls may be missing"]),
        *([f"{plural(gaps.unmetered_calls, 'inference')} without a count of tokens"] if gaps.unmetered_calls else []),
    ]
    facts: list[tuple[str, list[str]]] = [
        ("status", [status]),
        ("task", [trial.task_id or "none"]),
        ("variant", [trial.variant or "none"]),
        ("session", [trial.session_id or "none"]),
        ("traces", [*trial.trace_ids[:8], *([f"and {len(trial.trace_ids) - 8} more"] if trial.trace_ids[8:] else [])]),
        ("joined by", [trial.joined_by]),
        ("agent", [" ".join(part for part in (trial.agent_name, trial.agent_version) if part) or "unnamed"]),
        ("models", list(trial.models) or ["none"]),
        ("read by", [", ".join(trial.dialects) or "no dialect"]),
        ("content", ["; ".join([gaps.content.replace("_", " "), *lacking])]),
        ("tokens", [_tokens(trial)]),
        ("cost", [cost(trial)]),
    ]
    print_line(console, Text())
    for name, told in facts:
        _field(console, name, [words(part) for part in told])


def _steps(console: Console, trial: Trial) -> None:
    """Print the trajectory."""
    print_heading(console, "Steps")
    for number, step in enumerate(trial.steps, 1):
        took = f"{max(step.ended_at - step.started_at, 0) / 1e6:.1f} ms" if step.ended_at else "not ended"
        took = took if step.timed else "no time"
        begin = Text.assemble(f"{number:>4}  {step.kind:<10}  ", (words(step.span_id, "cyan")), f"  {took:>10}")
        name = words(step.name, "bold red" if step.failed else "")
        failed = Text("ERROR", style="bold red") if step.failed else Text()
        print_block(console, [begin], [name, failed], indent=begin.cell_len + 2)


def _call(console: Console, number: int, call: ToolCall) -> None:
    """Print one call: what it was asked, what came back, and what is known of its effect."""
    effect = call.effect
    ran = {"yes": "ran", "no": "did not run", "unknown": "nobody knows whether it ran"}[call.executed]
    print_block(
        console,
        [Text(f"{number:>4}", style="dim")],
        [words(call.name, "bold"), Text(ran), *spans(call.span_ids)],
        indent=6,
    )
    _recorded(console, "arguments", call.arguments, call.arguments_source)
    _recorded(console, "result", call.result, call.result_source)
    if call.error:
        _field(console, "error", value(call.error, _LONGEST, "red"))
    read = effect.effect_class == "read" and effect.state == "none"
    told = (
        [Text("none: a read")]
        if read
        else [Text.assemble(effect.effect_class, ", ", state(effect.state), f": {because(effect.reason)}")]
    )
    _field(console, "effect", [*told, words(place(effect))])
    for receipt in call.receipts:
        _field(console, "receipt", [*_seen(receipt), *spans([receipt.span_id])])


def _seen(receipt: Receipt) -> list[Text]:
    """Return what a receipt says."""
    shown, *note = value(seen(receipt), _LONGEST)
    return [Text.assemble(state(receipt.state), ": " if shown else "", shown), *note]


def _recorded(console: Console, name: str, recorded: Plain, source: str | None) -> None:
    """Print a value of a call, or that nobody recorded it."""
    if source is None:
        _field(console, name, [Text("not recorded", style="yellow")])
        return
    told = recorded if isinstance(recorded, str) else written(plain(recorded), Layout(ensure_ascii=False))
    _field(console, name, [*value(told, _LONGEST), Text("" if source == "span" else "from a message", style="dim")])


def _evidence(console: Console, trial: Trial) -> None:
    """Print what else was recorded: waits, refusals, scores, and what other tools said."""
    if trial.waits or trial.refusals or trial.quality or trial.foreign_results or trial.recorded_changes:
        print_heading(console, "Also recorded")
    for wait in trial.waits:
        held = (
            "stops the clock"
            if wait.legitimate
            else "does not stop the clock: owner, decision, deadline or resumable state is missing"
        )
        _field(console, "wait", [words(f"for {wait.owner or 'nobody'}: {wait.decision or 'no decision'}"), Text(held)])
    for refusal in trial.refusals:
        _field(
            console,
            "refusal",
            [words(f"by {refusal.by or 'nobody named'}: {refusal.reason or 'no reason'}", "", _LONGEST)],
        )
    for quality in trial.quality:
        _field(console, "quality", [Text(f"{quality.score}"), words(f"by {quality.grader} {quality.revision}")])
    for foreign in trial.foreign_results:
        told = foreign.label if foreign.score is None else f"{foreign.score} {foreign.label or ''}"
        _field(
            console,
            "elsewhere",
            [words(f"{foreign.name}: {told or 'nothing'}", "dim", _LONGEST), Text("no verdict of ours", style="dim")],
        )
    for changes in trial.recorded_changes:
        told = f"what changed, by {changes.by or 'nobody named'}: {written(plain(changes.actual), Layout())}"
        _field(console, "elsewhere", [words(told, "dim", _LONGEST), Text("no verdict of ours", style="dim")])


def _tokens(trial: Trial) -> str:
    """Return how many tokens went in and out. What was not recorded is not zero."""
    counts = ((trial.usage.input_tokens, "in"), (trial.usage.output_tokens, "out"))
    if all(count is None for count, _ in counts):
        return "not recorded"
    return ", ".join(f"{count if count is not None else 'not recorded'} {where}" for count, where in counts)
