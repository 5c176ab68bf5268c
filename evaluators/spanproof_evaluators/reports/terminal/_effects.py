"""The ledger of effects in the terminal: each effect once, its class and whose word that is, its state and why."""

from typing import Final

from rich.console import Console
from rich.text import Text

from spanproof_collector.model.trials import Effect, ToolCall, Trial
from spanproof_evaluators.model.effects import attempts, refused
from spanproof_evaluators.reports.proof import place
from spanproof_evaluators.reports.terminal._layout import print_block, print_heading, spans, state, words
from spanproof_evaluators.reports.wording import because, plural

_SOURCES: Final = {
    "declared": "declared",
    "mcp": "by its server's hints",
    "catalog": "by the catalogue",
    "inferred": "by its name",
    "observed": "observed",
    None: "by nobody's word",
}
_INDENT: Final = 6


def print_effects(console: Console, trial: Trial) -> None:
    """Print the effects that were attempted, then the calls that were refused; nothing where there is neither."""
    found = attempts(trial)
    stopped = refused(trial)
    if not found and not stopped:
        return
    print_heading(console, "Effects", "each once, however often it was tried")
    for number, attempt in enumerate(found, 1):
        call = next((one for one in attempt.calls if one.effect.state == attempt.state), attempt.calls[0])
        times = f"{plural(len(attempt.calls), 'call')} of one key" if len(attempt.calls) > 1 else ""
        _entry(console, number, call, times)
    for number, call in enumerate(stopped, len(found) + 1):
        _entry(console, number, call, "")


def _entry(console: Console, number: int, call: ToolCall, times: str) -> None:
    effect = call.effect
    resolved = [effect.resolved_by] if effect.resolved_by is not None else []
    looked = [span_id for span_id in effect.looked_up_by if span_id != effect.resolved_by]
    print_block(
        console,
        [Text(f"{number:>4}", style="dim")],
        [
            words(call.name, "bold"),
            Text(times),
            Text(_class(effect)),
            Text.assemble(state(effect.state), f": {because(effect.reason)}"),
            words(place(effect)),
            *([Text("settled by", style="dim"), *spans(resolved)] if resolved else []),
            *([Text("looked up by", style="dim"), *spans(looked)] if looked else []),
            *([] if resolved else spans(call.span_ids[:1])),
        ],
        indent=_INDENT,
    )


def _class(effect: Effect) -> str:
    taken = f", taken for {effect.taken_for}" if effect.taken_for is not None else ""
    return f"{effect.effect_class} ({_SOURCES[effect.class_source]}{taken})"
