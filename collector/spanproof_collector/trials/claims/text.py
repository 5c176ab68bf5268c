"""What a final answer claims by its words (evaluators.md B31, step 3).

Thinking is stripped, courtesies are dropped, quotations and code are left out. Then clauses are read: what was not
done, what is asked for, what is yet to come (at the end only), what was done. An answer that says none of these is
delivered: a claim by what it does, and its rules are named ``implicit_…`` so that rates without them can be printed.
The rules read English.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from spanproof_collector.model.trials import ClaimState
from spanproof_collector.model.values import Json
from spanproof_collector.trials.claims.asides import delivers, without_asides
from spanproof_collector.trials.claims.clauses import (
    HEAD,
    IS_GO_AHEAD,
    TAG,
    TAIL,
    THINKING,
    Clause,
    any_of,
    clauses_of,
    prose_of,
)
from spanproof_collector.trials.claims.language import is_english
from spanproof_collector.trials.claims.patterns import ASKS
from spanproof_collector.trials.claims.words import ends_the_work, state_in

COURTESY: Final = "courtesy"
"""The rule of an answer that says nothing of the task: its claim is in what was said before."""

_GONE: Final = r"(?:redacted|scrubbed|removed|hidden|filtered|omitted|elided|masked|truncated)"
_PLACEHOLDER: Final = re.compile(
    rf"[\[<({{*_]{{1,3}}(?:[a-z]{{1,12}} )?{_GONE}(?![a-z])[^\]>)}}\n]{{0,80}}[\]>)}}*_]{{1,3}}"
    rf"|\A\W{{0,3}}{_GONE}\W{{0,3}}\Z"
    r"|\*{3,}|\N{FULL BLOCK}+",
    re.IGNORECASE,
)
"""What stands where words were taken out."""

_CALL_TAG: Final = re.compile(r"</?(?:function_call|tool_call|tool_use|invoke)s?\b", re.IGNORECASE)
_NOTHING: Final = frozenset({"", "null", "none", "n/a", "nil", "undefined", "[]", "{}"})
_CALL_NAMES: Final = ("name", "tool", "function", "action", "tool_name")
_CALL_ARGUMENTS: Final = ("arguments", "args", "parameters", "input", "action_input", "tool_input", "kwargs")
_SOON: Final = re.compile(r"\b(?:now|next|then|first|let me|let's|need to|should|use|using|call|try)\b")
_AGAIN: Final = re.compile(
    r"\b(?:i|we|i've|we've|now|then|finally|again|instead|retr\w+)\b|^\w+ed (?:the|an?|all|your)\b"
)
"""What was done after trouble counts against it where the agent did it, or where it came later."""
_LONG: Final = 5
"""Clauses that deliver something, of an answer that words of regret do not make a refusal."""

_RECOMMENDS: Final = re.compile(r"\brecommend|\bbest (?:rated|options?)\b|\btop-rated\b")
_TO_BOOK: Final = re.compile(r"^(?:would you like|do you want)\b.*\b(?:book|reserv)\w*.*\?$")
_CHOICES: Final = 12
"""Clauses at the end of an answer in which the question stands that a list belongs to."""

_BACK: Final = re.compile(r"^(?:this|that|it|which|these)\b.{0,20}\b(?:will|should|would|might|way|helps?|requires?)\b")
_WRITTEN_CALL: Final = re.compile(r"([A-Za-z_]\w{0,60})\s*\((.*)\)\s*;?\s*\Z", re.DOTALL)
_WANTS_MORE: Final = any_of(ASKS, without=("please_check",))


def of_text(answer: str) -> tuple[ClaimState, str]:
    """Return what a final answer claims, and the rule that read it."""
    words = THINKING.sub(" ", answer).strip()
    if len(words) < 500:
        left = _PLACEHOLDER.sub("", words)
        if left != words and not any(char.isalnum() for char in left):
            return "unavailable", "redacted"
    if len(words) < 200 and TAG.sub("", words).strip().lower() in _NOTHING:
        return "none", "no_substantive_text"
    if _CALL_TAG.search(words[-TAIL:]):
        return "none", "unsent_call"
    written = _WRITTEN_CALL.match(words[: HEAD + TAIL])
    if written is not None and ends_the_work(written.group(1)):
        return _of_written_call(written.group(2))
    parsed = _parsed(words)
    if parsed is not None:
        if _is_call(parsed):
            return "none", "unsent_call"
        stated = state_in(parsed)
        if stated is not None:
            return stated, "stated_in_answer"
        words = "\n".join(_strings(parsed)) or words
    prose = prose_of(words)
    if not is_english(prose):
        return "unavailable", "language"
    if not any(char.isalnum() for char in prose):
        return ("success", "implicit_code") if "```" in words else ("none", "no_substantive_text")
    read = without_asides(clauses_of(words))
    if not read:
        return "none", COURTESY
    return _decide(read)


def _of_written_call(arguments: str) -> tuple[ClaimState, str]:
    """Read the arguments of a finishing call that was written as text, as agents without tool calls do."""
    parsed = _parsed(arguments)
    stated = state_in(parsed)
    said = of_text("\n".join(_strings(parsed)) if parsed is not None else arguments.strip("\"'"))[0]
    return stated or (said if said in ("failure", "partial") else "success"), "written_finish_call"


def _decide(read: Sequence[Clause]) -> tuple[ClaimState, str]:
    done = [index for index, one in enumerate(read) if one.done]
    mended = max((index for index in done if _AGAIN.search(read[index].text)), default=-1)
    missing = [one for index, one in enumerate(read) if one.not_done or (one.trouble and index > mended)]
    last, before = read[-1], read[-2] if len(read) > 1 else read[-1]
    asked = _WANTS_MORE.search(before.text) or IS_GO_AHEAD.search(before.text)
    if last.plans and before.sentence == last.sentence and asked:
        last = before
    if any(one.handed_off for one in read):
        return ("partial", "done_and_handed_off") if done else ("none", "handed_off")
    if missing and last.plans and not any(one.not_done for one in missing):
        return "none", "plan"
    if missing:
        return ("partial", "done_and_not_done") if done else ("failure", "not_done")
    if not done and any(one.soft for one in read):
        if last.asks or last.plans:
            return "none", "question" if last.asks else "plan"
        if any(one.asks for one in read) or sum(map(delivers, read)) < _LONG:
            return "failure", "not_done"
    if IS_GO_AHEAD.search(last.text) and not _recommended(read):
        return "none", "question"
    if not done:
        if _recommended(read):
            return "success", "implicit_answer"
        if last.asks or (before.asks and last.sentence - before.sentence <= 1) or _gives_a_choice(read):
            return "none", "question"
        if last.plans or (before.plans and _BACK.search(last.text)):
            return "none", "plan"
        return "success", "implicit_answer"
    if last.asks:
        return ("none", "question") if _WANTS_MORE.search(last.text) else ("success", "done_then_question")
    if last.plans:
        return ("none", "plan") if _SOON.search(last.text) else ("success", "done_then_plan")
    return "success", "done"


def _gives_a_choice(read: Sequence[Clause]) -> bool:
    """Whether an answer ends with a question and the list of what it may be answered with."""
    above = [index for index, one in enumerate(read) if not one.item][-2:]
    return read[-1].item and any(read[index].asks for index in above if index >= len(read) - _CHOICES)


def _recommended(read: Sequence[Clause]) -> bool:
    """Whether a long answer recommends something and then offers to book it: the recommendation is delivered."""
    offers = _TO_BOOK.search(read[-1].text) is not None
    return offers and any(_RECOMMENDS.search(one.text) for one in read) and sum(map(delivers, read)) >= _LONG


def _parsed(words: str) -> Json:
    """Return the object or list that the whole answer is written as."""
    text = words.removeprefix("```json").removesuffix("```").strip()
    if not text.startswith(("{", "[")) or len(text) > HEAD + TAIL:
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) and found else None


def _is_call(value: Json) -> bool:
    """True for a call of a tool that was written as an answer, and so never sent."""
    if isinstance(value, list):
        return all(_is_call(item) for item in value)
    return (
        isinstance(value, dict)
        and any(isinstance(value.get(key), str) for key in _CALL_NAMES)
        and any(key in value for key in _CALL_ARGUMENTS)
    )


def _strings(value: Json) -> Iterator[str]:
    """Return the words in a value, in order."""
    left: list[Json] = [value]
    while left:
        match left.pop():
            case str(text):
                yield text
            case list(items):
                left += reversed(items)
            case dict(members):
                left += reversed(list(members.values()))
            case _:
                pass
