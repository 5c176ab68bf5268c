"""What an agent says of its checks: that tests pass, that the build works, that lint and types are clean."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_collector.model.values import Json
from spanproof_collector.trials.claims import ends_the_work
from spanproof_evaluators.rules.coding.programs import Kind


@dataclass(frozen=True, slots=True)
class Said:
    """A claim on a check, with the words that make it."""

    kind: Kind
    words: str
    span_id: str | None


_SUBJECTS: Final[Mapping[Kind, str]] = {
    "tests": r"(?:(?:unit|integration|regression|e2e|smoke)[ -]?tests?|test (?:suites?|cases?|runs?)|tests?|suites?"
    r"|specs?|pytest|unittest|jest|vitest|mocha|rspec|ctest|(?:go|cargo|npm|yarn|pnpm|make|dotnet|mvn|gradle) test)",
    "build": r"(?:builds?|compilation|compile step|bundle|docker image|(?:npm run|cargo|yarn|go|docker|make) build)",
    "lint": r"(?:lint(?:er|ers|ing|s)?|eslint|ruff|flake8|pylint|clippy|golangci-lint|rubocop|shellcheck"
    r"|pre-commit)",
    "types": r"(?:type[ -]?check(?:s|er|ing)?|mypy|pyright|tsc|types|typescript)",
}
_ANY_SUBJECT: Final = "|".join(_SUBJECTS.values())
_FILLER: Final = (
    r"(?:all|the|both|now|also|are|is|was|were|have|has|been|do|does|still|again|and|or|of|on|with|my|our|your|new"
    r"|existing|unit|integration|regression|full|whole|entire|complete|check|checks|status|result|results|run|runs|ran"
    r"|step|files?|code|project|finish(?:es|ed)?|complete[sd]?|execut(?:es|ed)|output|shows?|reports?|exits?|locally"
    r"|everything|final|including|in|for|this|that|these|it|came|come|comes|back|\d+)"
)
_GAP: Final = r"[\s():,=&\u2192-]"
_TICK: Final = r"\u2705|\u2713|\u2714"
_GOOD: Final = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed|ing)?|success(?:ful(?:ly)?)?|green|clean(?:ly)?|works?|working|ok|fine"
    rf"|{_TICK}|no (?:\w+ )?(?:errors?|issues?|warnings?|problems?|failures?)"
    r"|without (?:any )?(?:\w+ )?(?:errors?|issues?|warnings?|failures?)"
    r"|0 (?:errors?|failures?|warnings?|issues?)|code 0|status 0|100 ?%)"
)
_FORWARD: Final = {
    kind: re.compile(rf"\b{subject}\b(?:{_GAP}+(?:{_FILLER}|{_ANY_SUBJECT}))*{_GAP}*{_GOOD}(?!\w)", re.IGNORECASE)
    for kind, subject in _SUBJECTS.items()
}
_BACKWARD: Final = {
    kind: re.compile(
        rf"(?:\b(?:pass(?:es|ed|ing)?|green|successful|clean|error-free)|{_TICK})[\s:]+"
        rf"(?:(?:the|all|of|its|our|\d+|unit|integration|existing|new|and|run|full|{_ANY_SUBJECT})\s+)*{subject}\b",
        re.IGNORECASE,
    )
    for kind, subject in _SUBJECTS.items()
}
_MORE: Final[Mapping[Kind, re.Pattern[str]]] = {
    "tests": re.compile(
        r"\b\d+(?:/\d+)? (?:tests? |specs? )?pass(?:ed|ing)\b"
        r"|\b(?:ran|run|executed|verified (?:with|by)|confirmed (?:with|by)) (?:running )?"
        r"(?:(?:the|all|full|unit|existing|new|whole) )*(?:tests?|test suite|suite)\b"
        r"[^.;]{0,40}\b(?:successfully|without|they (?:all )?pass|everything pass)",
        re.IGNORECASE,
    ),
    "build": re.compile(
        r"\b(?:code|project|app|package|crate|everything|it|image|program|library|site)\s+(?:now |also |still |again )*"
        r"(?:builds|compiles)\b"
        r"|\b(?:builds|compiles|compiled|built) (?:now |again )?(?:cleanly|fine|successfully|without|ok)"
        r"|\bsuccessfully (?:built|compiled)\b",
        re.IGNORECASE,
    ),
}
_PARDONED: Final = re.compile(
    r"\b(?:no|0|zero|without(?: any)?) (?:\w+ )?(?:fail\w*)|\b(?:previously|formerly|once|earlier)[ -]failing"
    r"|\bno longer fail\w*|\bnot only\b",
    re.IGNORECASE,
)
_HEDGED: Final = re.compile(
    r"\b(?:should|would|will|could|may|might|must|ensure|make sure|needs? to|expected|expect|until|try|trying|please"
    r"|you can|let me|going to|not|never|cannot|unable|fail(?:s|ed|ing|ures?)?|except|some|most|only|if|once|when"
    r"|whether|unless|before|hopefully|probably|likely|assum\w+|unverified|untested"
    r"|to (?:make|verify|check|see|confirm))\b|n't\b|'ll\b|\?\s*$",
    re.IGNORECASE,
)
_SPLIT: Final = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+|\n+|;\s+|,?\s+(?:but|however|although|though|while)\b|\s+[\u2013\u2014-]\s+"
    r"|,\s+(?:and\s+)?(?=(?:i|we|you)\b)",
    re.IGNORECASE,
)
_OF: Final = re.compile(r"\b(\d+)\s*(?:/|of|out of)\s*(\d+)\b")
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|\"[^\"\n]{1,600}\"", re.DOTALL)
_LONGEST: Final = 60_000
_KEY: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("tests", re.compile(r"(^|_)tests?(_|$)|test_?s?uite")),
    ("types", re.compile(r"type_?check|mypy|tsc")),
    ("lint", re.compile(r"(^|_)lint")),
    ("build", re.compile(r"(^|_)(build|compile)")),
)
_YES: Final = frozenset({"passed", "pass", "passing", "ok", "success", "succeeded", "green", "clean", "true", "yes"})


def claims_of(trial: Trial) -> list[Said]:
    """Return what the agent says of its checks: in its final answer, in a finishing call, in a declared claim."""
    found: dict[Kind, Said] = {}
    last = trial.tool_calls[-1] if trial.tool_calls else None
    if last is not None and ends_the_work(last.name):
        span_id = next(iter(last.span_ids), None)
        for one in _of_value(last.arguments, span_id):
            found.setdefault(one.kind, one)
    for text in (trial.claim.text, trial.final_answer):
        for one in _of_text(text or "", trial.claim.span_id):
            found.setdefault(one.kind, one)
    return list(found.values())


def _of_value(value: Json, span_id: str | None) -> Iterator[Said]:
    if isinstance(value, str):
        yield from _of_text(value, span_id)
    if not isinstance(value, dict):
        return
    for key, told in value.items():
        lower = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
        kind = next((kind for kind, pattern in _KEY if pattern.search(lower)), None)
        if kind is not None and (told is True or (isinstance(told, str) and told.strip().lower() in _YES)):
            yield Said(kind, f"{key}: {str(told).lower() if isinstance(told, bool) else told}", span_id)
        elif isinstance(told, str):
            yield from _of_text(told, span_id)


def _of_text(text: str, span_id: str | None) -> Iterator[Said]:
    short = text if len(text) <= _LONGEST else text[: _LONGEST // 3] + "\n" + text[-_LONGEST:]
    for part in _SPLIT.split(re.sub(r"[`*]", "", _FENCED.sub(" \u2026 ", short))):
        clause = (part or "").strip(" \t-#>\u2022")[:400]
        plain = _PARDONED.sub(" no errors ", clause)
        if not clause or _HEDGED.search(plain) or any(one != other for one, other in _OF.findall(plain)):
            continue
        for kind in _SUBJECTS:
            more = _MORE.get(kind)
            fits = _FORWARD[kind].search(plain) or _BACKWARD[kind].search(plain)
            if fits or (more is not None and more.search(plain)):
                yield Said(kind, clause, span_id)
