"""The submitted answer: what it contains, what it is, what number it gives, and whether its quotes are in the source.

No answer contains nothing; an answer that nobody recorded is a gap.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from spanproof_evaluators.model.checks import AnswerCheck, NumberExpected, QuoteExpected
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._kind import GapError, gap
from spanproof_evaluators.verifiers._numbers import Number, has_unit, numbers
from spanproof_evaluators.verifiers._show import shown
from spanproof_evaluators.verifiers._tree import files_of

_MARKS: Final = re.compile(r"“([^“”]+)”|«([^«»]+)»|„([^„“”]+)[“”]|\"([^\"]+)\"|「([^「」]+)」")
_BLOCK: Final = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|$))+", re.MULTILINE)


def folded(text: str) -> str:
    """Return a text in Unicode NFC with runs of white space as one space (evaluators.md B30)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def check_answer(spec: AnswerCheck, state: EndState) -> list[Check]:
    """Look for what is asked, one check each."""
    return [
        check
        if state.answer_recorded
        else Check(
            name=check.name, passed=None, reason="answer_not_captured", seen="the trace does not hold the answer"
        )
        for check in _checks(spec, state)
    ]


def _checks(spec: AnswerCheck, state: EndState) -> Iterator[Check]:
    text = state.answer or ""
    said = shown(folded(text)) if state.answer is not None else "there is no answer"

    def case(words: str) -> str:
        return folded(words).casefold() if spec.ignore_case else folded(words)

    for words, there in [(one, True) for one in spec.contains] + [(one, False) for one in spec.not_contains]:
        name = f"answer {'contains' if there else 'does not contain'} {shown(words)}"
        yield Check(name=name, passed=(case(words) in case(text)) is there, seen=said)
    if spec.equals is not None:
        same = state.answer is not None and case(text) == case(spec.equals)
        yield Check(name=f"answer is {shown(spec.equals)}", passed=same, seen=said)
    if spec.one_of:
        one = state.answer is not None and case(text) in {case(words) for words in spec.one_of}
        yield Check(name=f"answer is one of {shown(list(spec.one_of))}", passed=one, seen=said)
    if spec.regex is not None:
        yield _matched(spec, spec.regex, text, said)
    if spec.number is not None:
        yield _number(spec.number, text)
    if spec.quote is not None:
        yield _quoted(spec.quote, text, state)


def _matched(spec: AnswerCheck, pattern: str, text: str, said: str) -> Check:
    """Look for a pattern, for so long and no longer."""
    import regex

    name = f"answer matches {shown(pattern)}"
    flags = regex.IGNORECASE if spec.ignore_case else 0
    try:
        found = regex.compile(pattern, flags).search(
            unicodedata.normalize("NFC", text), timeout=spec.regex_seconds, concurrent=True
        )
    except TimeoutError:
        return gap(name, GapError("timeout", f"the pattern was not done after {spec.regex_seconds:g} s"))
    return Check(name=name, passed=found is not None, seen=f"found {shown(found.group())}" if found else said)


def _number(wanted: NumberExpected, text: str) -> Check:
    """Read the number that is meant. Where several different ones could be, the answer does not say which."""
    name = f"answer gives {wanted.value:g}{' ' + wanted.unit if wanted.unit else ''}"
    if wanted.near is not None:
        name += f" for {shown(wanted.near)}"
    if wanted.abs_tol or wanted.rel_tol:
        name += f" within {max(wanted.abs_tol, wanted.rel_tol * abs(wanted.value)):g}"
    candidates = _candidates(wanted, text)
    values = list(dict.fromkeys(number.value for number in candidates))
    seen = shown([number.text for number in candidates])
    if not values:
        return Check(name=name, passed=False, seen="the answer gives no such number")
    if len(values) > 1:
        return Check(name=name, passed=False, seen=f"several numbers, so none is given: {seen}")
    return Check(name=name, passed=_close(values[0], wanted), seen=seen)


def _candidates(wanted: NumberExpected, text: str) -> list[Number]:
    lines = unicodedata.normalize("NFC", text).splitlines()
    found: list[Number] = []
    for line in lines:
        fitting = [
            number
            for number in numbers(line, wanted.decimal)
            if (has_unit(number, wanted.unit) if wanted.unit else not number.attached or number.text[-3:].isupper())
        ]
        found += fitting if wanted.near is None else _near(wanted.near, line, fitting)
    return found


def _near(words: str, line: str, fitting: Sequence[Number]) -> Iterator[Number]:
    """Yield for each place of the words the first number after it, else the last before it."""
    pattern = r"\s+".join(re.escape(word) for word in unicodedata.normalize("NFC", words).split())
    for place in re.finditer(pattern, line, re.IGNORECASE):
        after = [number for number in fitting if number.start >= place.end()]
        before = [number for number in fitting if number.end <= place.start()]
        if after or before:
            yield after[0] if after else before[-1]


def _close(value: Decimal, wanted: NumberExpected) -> bool:
    """Return whether a number is the one that is wanted; without a tolerance, to the last digit."""
    if not wanted.abs_tol and not wanted.rel_tol:
        return value == Decimal(repr(wanted.value))
    expected = Decimal(repr(wanted.value))
    margin = max(Decimal(repr(wanted.abs_tol)), Decimal(repr(wanted.rel_tol)) * abs(expected))
    return abs(value - expected) <= margin


def _quoted(wanted: QuoteExpected, text: str, state: EndState) -> Check:
    """Look for every quote of the answer in the source, word for word."""
    name = f"answer quotes {wanted.source} word for word"
    try:
        source = folded(_source(wanted, state))
    except GapError as error:
        return gap(name, error, destination=wanted.destination)
    quotes = [quote for quote in map(folded, _quotes(text)) if len(quote) >= wanted.min_length]
    missing = [quote for quote in quotes if quote not in source]
    if missing:
        return Check(name=name, passed=False, seen=f"not in the source: {shown(missing)}")
    seen = shown(quotes) if quotes else "the answer quotes nothing"
    return Check(name=name, passed=len(quotes) >= wanted.at_least, seen=seen)


def _source(wanted: QuoteExpected, state: EndState) -> str:
    files = files_of(state, wanted.destination)
    if wanted.source not in files.sizes:
        raise GapError("source_missing", f"there is no file {wanted.source}")
    try:
        return files.content(wanted.source).decode("utf-8")
    except UnicodeDecodeError as error:
        raise GapError("file_unreadable", f"{wanted.source} is no UTF-8") from error


def _quotes(text: str) -> Iterator[str]:
    """Yield what stands in quotation marks, and blocks of lines that begin with ``>``."""
    for found in _MARKS.finditer(text):
        yield next(part for part in found.groups() if part is not None)
    for block in _BLOCK.finditer(text):
        yield "\n".join(line.lstrip().removeprefix(">") for line in block.group().splitlines())
