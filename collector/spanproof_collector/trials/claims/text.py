"""What a final answer claims by its words (evaluators.md B31, step 3).

Thinking is stripped, courtesies are dropped, quotations and code are left out. Then clauses are read: what was not
done, what is asked for, what is yet to come (at the end only), what was done. An answer that says none of these is
delivered: a claim by what it does, and its rules are named ``implicit_…`` so that rates without them can be printed.
The rules read English.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ClaimState
from spanproof_collector.model.values import Json
from spanproof_collector.trials.claims.language import is_english
from spanproof_collector.trials.claims.patterns import (
    ASIDE,
    ASKS,
    CANNOT,
    CONDITION,
    COURTESIES,
    DONE,
    GO_AHEAD,
    HANDED_OFF,
    NOT_DONE,
    PLANS,
    REPORTED,
    TROUBLE,
)
from spanproof_collector.trials.claims.words import ends_the_work, state_in

COURTESY: Final = "courtesy"
"""The rule of an answer that says nothing of the task: its claim is in what was said before."""

_HEAD, _TAIL, _CLAUSE_LENGTH = 20_000, 40_000, 800
"""Characters of an answer, and of a clause, that are read: claims stand at the ends."""

_THINKING: Final = re.compile(
    r"<(think|thinking|reasoning|scratchpad|analysis)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_GONE: Final = r"(?:redacted|scrubbed|removed|hidden|filtered|omitted|elided|masked|truncated)"
_PLACEHOLDER: Final = re.compile(
    rf"[\[<({{*_]{{1,3}}(?:[a-z]{{1,12}} )?{_GONE}(?![a-z])[^\]>)}}\n]{{0,80}}[\]>)}}*_]{{1,3}}"
    rf"|\A\W{{0,3}}{_GONE}\W{{0,3}}\Z"
    r"|\*{3,}|\N{FULL BLOCK}+",
    re.IGNORECASE,
)
"""What stands where words were taken out."""

_CALL_TAG: Final = re.compile(r"</?(?:function_call|tool_call|tool_use|invoke)s?\b", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z_][\w-]{0,40}>")
_QUOTED: Final = re.compile(
    r'"[^"\n]{1,600}"|“[^”\n]{1,600}”|`[^`\n]{1,300}`|(?<![\w])\'[^\'\n]{1,200}\'(?![\w])|^[ \t]*>[^\n]*', re.MULTILINE
)
_MARKUP: Final = re.compile(r"\*\*|__|^[ \t]*#+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", re.MULTILINE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
_SPLIT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though)\b,?\s*|,\s+(?:so|and|then|and then)\s+(?=i\b|we\b)|;\s+|\s+-\s+"
    r"|\s*[\N{EN DASH}\N{EM DASH}]\s*",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"^\s*(?:[-*•·]|\d{1,3}[.)])\s+")
_NOTHING: Final = frozenset({"", "null", "none", "n/a", "nil", "undefined", "[]", "{}"})
_CALL_NAMES: Final = ("name", "tool", "function", "action", "tool_name")
_CALL_ARGUMENTS: Final = ("arguments", "args", "parameters", "input", "action_input", "tool_input", "kwargs")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|we|i'm|i've|we've|my|our|me|us|unfortunately)\b")
_SOON: Final = re.compile(r"\b(?:now|next|then|first|let me|let's|need to|should)\b")
_SOFT: Final = ("sorry", "apology", "seems_missing")
"""Words of regret: they tell that something is missing only where nothing is said to be done."""


def _any(patterns: Mapping[str, str], *, without: Sequence[str] = ()) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{text})" for name, text in patterns.items() if name not in without))


_IS_COURTESY, _IS_ASIDE, _IS_REPORTED = _any(COURTESIES), _any(ASIDE), _any(REPORTED)
_IS_GENERAL: Final = _any(CANNOT)
_AGAIN: Final = re.compile(r"\b(?:i|we|i've|we've|now|then|finally|again|instead|retr\w+)\b")
"""What was done after trouble counts against it where the agent did it, or where it came later."""
_SHORT: Final = 2
"""Sentences of an answer in which a general statement is the answer."""

_OF_THAT: Final = re.compile(r"\b(?:that|it|this|those|these|them|such)\b")
_BACK: Final = re.compile(r"^(?:this|that|it|which|these)\b")
_WRITTEN_CALL: Final = re.compile(r"([A-Za-z_]\w{0,60})\s*\((.*)\)\s*;?\s*\Z", re.DOTALL)
_IS_NOT_DONE, _IS_SOFT = _any(NOT_DONE, without=_SOFT), _any({name: NOT_DONE[name] for name in _SOFT})
_IS_TROUBLE, _IS_HANDED_OFF, _IS_GO_AHEAD = _any(TROUBLE), _any(HANDED_OFF), _any(GO_AHEAD)
_IS_ASKING, _IS_PLAN, _IS_DONE = _any(ASKS), _any(PLANS), _any(DONE)
_WANTS_MORE: Final = _any(ASKS, without=("please_check",))


@dataclass(frozen=True, slots=True)
class _Clause:
    """One clause of an answer, in lower case, and what it says."""

    text: str
    sentence: int
    not_done: bool
    soft: bool
    trouble: bool
    done: bool
    handed_off: bool

    @property
    def asks(self) -> bool:
        return bool(_IS_ASKING.search(self.text)) or self.text.endswith("?")

    @property
    def plans(self) -> bool:
        return bool(_IS_PLAN.search(self.text)) and not self.done


def every_clause_of(answer: str) -> list[str]:
    """Return all clauses of an answer in lower case, courtesies included."""
    return [text for _, _, text in _split(_THINKING.sub(" ", answer))]


def _split(answer: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the clauses in lower case, each with the number of its sentence and whether that is an item of a list."""
    number = 0
    for line in _prose(answer).splitlines():
        item = _ITEM.match(line)
        for sentence in _SENTENCE.split(line[item.end() :] if item else line):
            number += bool(sentence.strip())
            for part in _SPLIT.split(sentence):
                text = part.strip(" \t*#>:,").lower()[:_CLAUSE_LENGTH]
                if text.strip(". "):
                    yield number, item is not None, text


def _prose(answer: str) -> str:
    """Return the words that are the answer's own: no thinking, no code, no quotation, no markup."""
    text = answer.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if len(text) > _HEAD + _TAIL:
        text = text[:_HEAD] + "\n" + text[-_TAIL:]
    text = _FENCE.sub("\n", text)
    text = _QUOTED.sub(" … ", text)
    return _MARKUP.sub("", _TAG.sub("\n", text))


def _read(number: int, text: str, *, item: bool, short: bool) -> _Clause:
    """Return what a clause says.

    In a list, trouble counts where the agent speaks of itself or the item begins with it: the rest is what is listed.
    """
    reported = bool(_IS_REPORTED.search(text))
    facts = CONDITION.sub(" ", text)
    own = bool(_FIRST_PERSON.search(facts))
    missing = _IS_NOT_DONE.search(facts)
    counts = not reported and missing is not None and (not item or own or missing.start() == 0)
    not_done = counts or (not reported and not item and short and bool(_IS_GENERAL.search(facts)))
    soft = bool(_IS_SOFT.search(facts))
    handed_off = bool(_IS_HANDED_OFF.search(facts))
    done = bool(_IS_DONE.search(facts)) and not (not_done or soft or reported or handed_off or _IS_PLAN.search(facts))
    trouble = _IS_TROUBLE.search(facts)
    met = trouble is not None and not reported and not done and (not item or own or trouble.start() == 0)
    return _Clause(text, number, not_done, soft, met, done, handed_off)


def _clauses(answer: str) -> list[_Clause]:
    parts = [part for part in _split(answer) if _IS_GO_AHEAD.search(part[2]) or not _IS_COURTESY.search(part[2])]
    short = len({number for number, _, _ in parts}) <= _SHORT
    read = [_read(number, text, item=item, short=short) for number, item, text in parts]
    aside = {one.sentence for one in read if _IS_ASIDE.search(one.text)}
    aside |= {one.sentence for one in read if one.sentence - 1 in aside and one.not_done and _OF_THAT.search(one.text)}
    aside &= {one.sentence for one in read if one.not_done or one.soft or one.trouble or one.plans}
    rest = [one for one in read if one.sentence not in aside]
    return rest if any(not (one.not_done or one.soft) for one in rest) else read


def of_text(answer: str) -> tuple[ClaimState, str]:
    """Return what a final answer claims, and the rule that read it."""
    words = _THINKING.sub(" ", answer).strip()
    if len(words) < 500:
        left = _PLACEHOLDER.sub("", words)
        if left != words and not any(char.isalnum() for char in left):
            return "unavailable", "redacted"
    if len(words) < 200 and _TAG.sub("", words).strip().lower() in _NOTHING:
        return "none", "no_substantive_text"
    if _CALL_TAG.search(words[-_TAIL:]):
        return "none", "unsent_call"
    written = _WRITTEN_CALL.match(words[: _HEAD + _TAIL])
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
    prose = _prose(words)
    if not is_english(prose):
        return "unavailable", "language"
    if not any(char.isalnum() for char in prose):
        return ("success", "implicit_code") if "```" in words else ("none", "no_substantive_text")
    read = _clauses(words)
    if not read:
        return "none", COURTESY
    return _decide(read)


def _of_written_call(arguments: str) -> tuple[ClaimState, str]:
    """Read the arguments of a finishing call that was written as text, as agents without tool calls do."""
    parsed = _parsed(arguments)
    stated = state_in(parsed)
    said = of_text("\n".join(_strings(parsed)) if parsed is not None else arguments.strip("\"'"))[0]
    return stated or (said if said in ("failure", "partial") else "success"), "written_finish_call"


def _decide(read: Sequence[_Clause]) -> tuple[ClaimState, str]:
    done = [index for index, one in enumerate(read) if one.done]
    mended = max((index for index in done if _AGAIN.search(read[index].text)), default=-1)
    missing = [one for index, one in enumerate(read) if one.not_done or (one.trouble and index > mended)]
    last, before = read[-1], read[-2] if len(read) > 1 else read[-1]
    if any(one.handed_off for one in read):
        return ("partial", "done_and_handed_off") if done else ("none", "handed_off")
    if missing and last.plans and not any(one.not_done for one in missing):
        return "none", "plan"
    if missing:
        return ("partial", "done_and_not_done") if done else ("failure", "not_done")
    if not done and any(one.soft for one in read):
        if last.asks or last.plans:
            return "none", "question" if last.asks else "plan"
        return "failure", "not_done"
    if _IS_GO_AHEAD.search(last.text):
        return "none", "question"
    if not done:
        if last.asks or (before.asks and last.sentence - before.sentence <= 1):
            return "none", "question"
        if last.plans or (before.plans and _BACK.search(last.text)):
            return "none", "plan"
        return "success", "implicit_answer"
    if last.asks:
        return ("none", "question") if _WANTS_MORE.search(last.text) else ("success", "done_then_question")
    if last.plans:
        return ("none", "plan") if _SOON.search(last.text) else ("success", "done_then_plan")
    return "success", "done"


def _parsed(words: str) -> Json:
    """Return the object or list that the whole answer is written as."""
    text = words.removeprefix("```json").removesuffix("```").strip()
    if not text.startswith(("{", "[")) or len(text) > _HEAD + _TAIL:
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
