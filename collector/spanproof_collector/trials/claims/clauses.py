"""The clauses of a final answer, and what each says: the words are the answer's own, without quotations and code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.trials.claims.patterns import (
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

HEAD: Final = 20_000
TAIL: Final = 40_000
"""Characters of an answer that are read at its beginning and at its end: claims stand there."""

THINKING: Final = re.compile(
    r"<(think|thinking|reasoning|scratchpad|analysis)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
TAG: Final = re.compile(r"</?[A-Za-z_][\w-]{0,40}>")
_CLAUSE_LENGTH: Final = 800
"""Characters of a clause that are read."""

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED: Final = re.compile(
    r'"[^"\n]{1,600}"|“[^”\n]{1,600}”|`[^`\n]{1,300}`|(?<![\w])\'[^\'\n]{1,200}\'(?![\w])|^[ \t]*>[^\n]*', re.MULTILINE
)
_ENDS_INSIDE: Final = re.compile(r"\s+[A-Z]")
"""What follows a quotation whose last stop ends the sentence around it."""

_MARKUP: Final = re.compile(r"\*\*|__|^[ \t]*#+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", re.MULTILINE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
_SPLIT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though)\b,?\s*|,\s+(?:so|and|then|and then)\s+(?=i\b|we\b)|;\s+|\s+-\s+"
    r"|\s*[\N{EN DASH}\N{EM DASH}]\s*",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"^\s*(?:[-*•·]|\d{1,3}[.)])\s+")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|we|i'm|i've|we've|my|our|me|us|unfortunately)\b")
_SOFT: Final = ("sorry", "apology", "seems_missing")
"""Words of regret: they tell that something is missing only where nothing is said to be done."""


def any_of(patterns: Mapping[str, str], *, without: Sequence[str] = ()) -> re.Pattern[str]:
    """Return one expression that finds any of the patterns."""
    return re.compile("|".join(f"(?:{text})" for name, text in patterns.items() if name not in without))


IS_GO_AHEAD: Final = any_of(GO_AHEAD)
_IS_COURTESY, _IS_REPORTED = any_of(COURTESIES), any_of(REPORTED)
_IS_SPARE: Final = re.compile(r"^if you\b.*\bplease (?:provide|specify|clarify|share|send|give)\b")
_IS_OFFER: Final = re.compile(
    r"^(?:or )?(?:would you like|do you want) (?:me )?to "
    r"(?!know|see|hear|explore|learn|do )(?!.*\b(?:else|more|other|another|different|additional|further)\b).*\?"
)
"""An offer to do the task: after a short answer that tells of nothing done it is a question for leave."""

_IS_AWAITED: Final = re.compile(ASKS["once_you"] + r"|^if you\b.*\bcould you\b.*\?$")
_IS_GENERAL, _IS_TROUBLE, _IS_HANDED_OFF = any_of(CANNOT), any_of(TROUBLE), any_of(HANDED_OFF)
_IS_NOT_DONE, _IS_SOFT = any_of(NOT_DONE, without=_SOFT), any_of({name: NOT_DONE[name] for name in _SOFT})
_IS_ASKING, _IS_PLAN, _IS_DONE = any_of(ASKS), any_of(PLANS), any_of(DONE)
_SHORT: Final = 2
"""Sentences of an answer in which a general statement is the answer."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of an answer, in lower case, and what it says."""

    text: str
    sentence: int
    item: bool
    """Whether it stands in a list."""

    not_done: bool
    soft: bool
    trouble: bool
    done: bool
    handed_off: bool
    spare: bool
    """Whether it is a courtesy that counts only where nothing is done: a request for what is missing, or an offer."""

    @property
    def asks(self) -> bool:
        """Whether it asks for something."""
        return bool(_IS_ASKING.search(self.text)) or self.text.endswith("?")

    @property
    def plans(self) -> bool:
        """Whether it tells of what is yet to come."""
        return bool(_IS_PLAN.search(self.text)) and not self.done

    @property
    def refuses(self) -> bool:
        """Whether it says that something was not or will not be done, or regrets it."""
        return self.not_done or self.soft or self.trouble or self.plans


def every_clause_of(answer: str) -> list[str]:
    """Return all clauses of an answer in lower case, courtesies included."""
    return [text for _, _, text in _split(THINKING.sub(" ", answer))]


def clauses_of(answer: str) -> list[Clause]:
    """Return the clauses that say something of the task: courtesies are dropped."""
    parts = [(number, item, text, _without_courtesy(text)) for number, item, text in _split(answer)]
    short = len({number for number, _, _, own in parts if own}) <= _SHORT
    return [
        _read(number, own or text, item=item, short=short, spare=not own)
        for number, item, text, own in parts
        if own or _IS_SPARE.search(text) or (short and _IS_OFFER.search(text))
    ]


def prose_of(answer: str) -> str:
    """Return the words that are the answer's own: no code, no quotation, no markup."""
    text = answer.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    text = _FENCE.sub("\n", text)
    text = _QUOTED.sub(_gap, text)
    return _MARKUP.sub("", TAG.sub("\n", text))


def _gap(quoted: re.Match[str]) -> str:
    """Return what stands for a quotation: with a stop where its last stop ends the sentence around it too."""
    stops = quoted[0][-2:-1] in (".", "!", "?") and _ENDS_INSIDE.match(quoted.string, quoted.end())
    return " \N{HORIZONTAL ELLIPSIS}. " if stops else " \N{HORIZONTAL ELLIPSIS} "


def _split(answer: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the clauses in lower case, each with the number of its sentence and whether that is an item of a list."""
    number = 0
    for line in prose_of(answer).splitlines():
        item = _ITEM.match(line)
        for sentence in _SENTENCE.split(line[item.end() :] if item else line):
            number += bool(sentence.strip())
            for part in _SPLIT.split(sentence):
                text = part.strip(" \t*#>:,").lower()[:_CLAUSE_LENGTH]
                if text.strip(". "):
                    yield number, item is not None, text


def _without_courtesy(text: str) -> str:
    """Return a clause without its courtesy: what was said to be done before it stays."""
    courtesy = _IS_COURTESY.search(text)
    if courtesy is None or IS_GO_AHEAD.search(text) or _IS_AWAITED.search(text):
        return text
    before = text[: courtesy.start()]
    return before if _IS_DONE.search(CONDITION.sub(" ", before)) or _IS_ASKING.search(before) else ""


def _read(number: int, text: str, *, item: bool, short: bool, spare: bool) -> Clause:
    """Return what a clause says.

    In a list, trouble counts where the agent speaks of itself or the item begins with it: the rest is what is listed.
    """
    if spare:
        return Clause(text, number, item, *(False,) * 5, spare=True)
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
    return Clause(text, number, item, not_done, soft, met, done, handed_off, spare=False)
