"""The submitted answer: what it contains and what it does not."""

import unicodedata

from spanproof_evaluators.model.checks import AnswerCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._show import shown


def folded(text: str) -> str:
    """Return a text in Unicode NFC with runs of white space as one space (evaluators.md B30)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def check_answer(spec: AnswerCheck, state: EndState) -> list[Check]:
    """Look for each text, one check each. No answer contains nothing; an answer nobody recorded is a gap."""
    wanted = [(text, True) for text in spec.contains] + [(text, False) for text in spec.not_contains]
    return [_one(text, there, state) for text, there in wanted]


def _one(text: str, there: bool, state: EndState) -> Check:
    """Look for one text."""
    name = f"answer {'contains' if there else 'does not contain'} {shown(text)}"
    if not state.answer_recorded:
        return Check(name=name, passed=None, reason="answer_not_captured", seen="the trace does not hold the answer")
    answer = folded(state.answer or "")
    passed = (folded(text) in answer) is there
    return Check(name=name, passed=passed, seen=shown(answer) if state.answer is not None else "there is no answer")
