"""Claims: what the agent declared. A structured declaration outranks how the run ended, which outranks text rules.

The text rules read English. They say ``success`` for a statement that the work is done, ``partial`` where the same
answer admits a gap, ``failure`` where it says that the work was not done, and ``none`` for a question, an offer or a
plan. Their error is measured on labeled messages (tests/collector/trials/test_claims.py) and shown with the rule.
"""

import re
from collections.abc import Sequence
from typing import Final

from spanproof_collector.dialects.evidence import DeclaredClaim
from spanproof_collector.model.readings import ContentState
from spanproof_collector.model.trials import Claim, ClaimState, Status


def _any(*patterns: str, start: str = r"\b") -> re.Pattern[str]:
    """One pattern for whole words, in any case."""
    return re.compile(rf"{start}(?:{'|'.join(patterns)})\b", re.IGNORECASE)


RECORDING_CUT: Final = "recording_cut"
"""Why a trial is incomplete whose recording breaks off: what was claimed last is not known."""

_THINKING: Final = re.compile(r"<(think|thinking|reasoning|scratchpad)>.*?(</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_CLAUSE: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|,? (?:but|however),? ", re.IGNORECASE)
_NOTHING: Final = frozenset({"", "null", "none", "n/a", "nil", "undefined"})

# A sentence that opens like this says nothing of the task.
_COURTESY: Final = _any(
    r"(please )?(let me know|feel free|don't hesitate|do not hesitate)",
    r"is there anything",
    r"anything else",
    r"if you (need|have|'d like|would like|want|require)",
    r"would you like",
    r"do you (need|want|have)",
    r"have a (great|nice|good|wonderful)",
    r"i hope (this|that)",
    r"happy to (help|assist)",
    r"(how (else )?)?(can|may|could) i (help|assist)",
    r"enjoy",
    start="",
)
# Unless it asks for leave to do the task.
_GO_AHEAD: Final = _any(
    r"(would you like (me )?to|(do you want|shall i|should i)( me)?( to)?) (proceed|continue|go ahead|confirm)",
    r"how (would you|you would|you'd) like (me )?to proceed",
)
_FAILURE: Final = _any(
    r"could ?n[o']t",
    r"could not",
    r"can ?not",
    r"can't",
    r"was ?n[o']t able",
    r"(am|was|were|is) not able",
    r"unable",
    r"failed",
    r"did ?n[o']t (find|succeed|work|manage|complete)",
    r"do(es)? ?n[o']t (have|appear|seem|exist)",
    r"don't have (access|the ability|enough|any)",
    r"am not (allowed|permitted|authorized)",
    r"not possible",
    r"no way to",
    r"(ran into|encountered) (an |a |some )?(error|issue|problem|difficult\w*)",
    r"returned an error",
    r"there (was|seems to be|appears to be) (an |a )?(error|issue|problem)",
    r"error occurred",
    r"(was|were|has been|have been) not (approved|completed|sent|made|processed|found)",
    r"was (denied|rejected)",
    r"(i('m| am)? )?(sorry|afraid)",
    r"i apologize",
    r"apologies",
    r"unfortunately",
    r"it (seems|appears|looks like) (that )?(i('m| am)|there)",
)
_ASKS: Final = _any(
    r"(could|can) you",
    r"please (provide|confirm|specify|clarify|share|tell|give|let)",
    r"would you (please|mind)",
    r"which (one|of)",
    r"(should|shall) i",
    r"do you (want|mean|confirm)",
    r"i (need|require|would need|will need|'ll need) (more|some|the|your|to know|additional|further)",
)
_PLANS: Final = _any(
    r"i('ll| will| am going to|'m going to| need to| plan to| can now| should)",
    r"let me",
    r"let's",
    r"next,? i",
    r"now,? i('ll| will| need)",
    r"i (can|could|would like to|want to) (now )?(use|call|try|run|invoke) (the |a )?[`'\"]?\w+",
)
_PARTICIPLE: Final = r"\w+(ed|ent|ade|ut|one|itten|ound|aid|et|old|ought)"
_VERB: Final = (
    "(sent|created|updated|added|made|booked|paid|scheduled|invited|posted|deleted|removed|canceled|cancelled|refunded"
    "|issued|shared|moved|changed|reserved|completed|finished|fixed|wrote|saved|transferred)"
)
_STATE: Final = "(complete|done|resolved|ready|set|confirmed|processed)"
_DONE: Final = _any(
    rf"(i|we)('ve| have) ((now|also|successfully|already|just) )*{_PARTICIPLE}",
    rf"i (successfully )?{_VERB}",
    rf"(has|have) ((now|also|successfully|already) )*been (successfully )?{_PARTICIPLE}",
    rf"(is|are|was|were) ((now|all|also) )*(successfully )?({_VERB}|{_STATE})",
    r"successfully",
    r"done",
    r"all set",
    r"task (is )?complete",
    r"completed",
)


def _sentences(answer: str) -> list[str]:
    plain = _THINKING.sub(" ", answer).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    parts = [part.strip() for part in _CLAUSE.split(plain)]
    return [part for part in parts if part and (_GO_AHEAD.search(part) or not _COURTESY.match(part.lstrip("*-#> ")))]


def of_text(answer: str) -> tuple[ClaimState, str]:
    """Return what a final answer claims, and the rule that read it."""
    sentences = _sentences(answer)
    if not sentences or answer.strip().lower() in _NOTHING:
        return "none", "no_substantive_text"
    if not any(char.isascii() and char.isalpha() for char in answer) or _mostly_foreign(answer):
        return "unavailable", "language"
    failed = [bool(_FAILURE.search(part)) for part in sentences]
    done = [bool(_DONE.search(part)) and not bad for part, bad in zip(sentences, failed, strict=True)]
    last = sentences[-1]
    if any(failed):
        if any(done):
            return "partial", "done_and_not_done"
        return "failure", "not_done"
    if _GO_AHEAD.search(last) or (not any(done) and any(_ASKS.search(part) for part in sentences[-2:])):
        return "none", "question"
    if last.endswith("?") or _ASKS.search(last):
        return ("success", "done_then_question") if any(done) and not _ASKS.search(last) else ("none", "question")
    if _PLANS.search(last) and not done[-1]:
        return ("success", "done_then_offer") if any(done) and not _PLANS.match(last) else ("none", "plan")
    if any(done):
        return "success", "done"
    return "success", "answer_delivered"


def _mostly_foreign(answer: str) -> bool:
    """True where the letters are mostly of another script; other languages in Latin script are not recognized."""
    letters = [char for char in answer if char.isalpha()]
    return bool(letters) and sum(char.isascii() for char in letters) < 0.7 * len(letters)


def read_claim(
    *,
    declared: Sequence[DeclaredClaim],
    status: Status,
    status_reason: str | None,
    answer: str | None,
    answer_span: str | None,
    content: ContentState,
    end_span: str | None,
) -> Claim:
    """Return the claim of a trial."""
    if declared:
        last = declared[-1]
        return Claim(state=last.state, source="declared", rule="spanproof.claim", span_id=last.span_id)
    if status == "incomplete" and status_reason == RECORDING_CUT:
        return Claim(state="unavailable", source="termination", rule=RECORDING_CUT, span_id=end_span)
    if status in ("error", "aborted", "waiting"):
        rule = f"ended_{status}" + (f": {status_reason}" if status_reason else "")
        return Claim(state="none", source="termination", rule=rule, span_id=end_span)
    if answer is not None:
        state, rule = of_text(answer)
        return Claim(state=state, source="none" if state == "unavailable" else "text", rule=rule, span_id=answer_span)
    if content == "captured":
        return Claim(state="none", source="none", rule="no_final_answer")
    return Claim(state="unavailable", source="none", rule="not_captured")
