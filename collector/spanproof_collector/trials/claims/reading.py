"""The claim of a trial: a structured declaration outranks how the run ended, which outranks text rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.dialects.evidence import DeclaredClaim
from spanproof_collector.model.readings import ContentState
from spanproof_collector.model.trials import Claim, ClaimSource, Status, ToolCall
from spanproof_collector.trials.claims.declared import finishes, of_call
from spanproof_collector.trials.claims.text import COURTESY, of_text

RECORDING_CUT: Final = "recording_cut"
"""Why a trial is incomplete whose recording breaks off: what was claimed last is not known."""

_FARTHEST: Final = 6
"""How many messages back the words of a claim are looked for, the final answer included."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the agent that asked for no tool, and the span that they stand in."""

    text: str
    span_id: str


def read_claim(
    *,
    declared: Sequence[DeclaredClaim],
    calls: Sequence[ToolCall],
    status: Status,
    status_reason: str | None,
    said: Sequence[Said],
    content: ContentState,
    end_span: str | None,
) -> Claim:
    """Return the claim of a trial.

    Args:
        declared: claims in the namespace ``spanproof.*``, in order of time.
        calls: the agent's calls, in the order in which they were asked for.
        status: how the run ended.
        status_reason: why it ended so.
        said: the final answer, then what the agent said before it, latest first; empty where there is no final answer.
        content: whether words were captured at all.
        end_span: the span that shows how the run ended.
    """
    if declared:
        last = declared[-1]
        return Claim(state=last.state, source="declared", rule="spanproof.claim", span_id=last.span_id, text=last.text)
    if calls and finishes(calls[-1]) and calls[-1].error is None and calls[-1].effect.state != "refused":
        state, rule = of_call(calls[-1])
        return Claim(state=state, source="declared", rule=rule, span_id=next(iter(calls[-1].span_ids), None))
    if status == "incomplete" and status_reason == RECORDING_CUT:
        return Claim(state="unavailable", source="termination", rule=RECORDING_CUT, span_id=end_span)
    if status in ("error", "aborted", "waiting"):
        rule = f"ended_{status}" + (f": {status_reason}" if status_reason else "")
        return Claim(state="none", source="termination", rule=rule, span_id=end_span)
    if said:
        return _of_words(said)
    if content == "captured":
        return Claim(state="none", source="none", rule="no_final_answer")
    return Claim(state="unavailable", source="none", rule="not_captured")


def _of_words(said: Sequence[Said]) -> Claim:
    """Read the last words that say something of the task: thanks and good wishes are passed over."""
    for words in said[:_FARTHEST]:
        state, rule = of_text(words.text)
        if rule != COURTESY:
            break
    else:
        words = said[0]
    source: ClaimSource = "none" if state == "unavailable" else "text"
    return Claim(state=state, source=source, rule=rule, span_id=words.span_id)
