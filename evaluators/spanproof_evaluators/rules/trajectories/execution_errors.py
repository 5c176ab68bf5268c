"""Errors of the systems that an agent works with, by class."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import error_of
from spanproof_evaluators.rules.trajectories._saying import said, unavailable

ErrorClass: TypeAlias = Literal[
    "authentication", "not_found", "rate_limit", "server_error", "timeout", "setup", "exhausted", "other"
]

_STATUS: Final = re.compile(
    r"^\W{0,3}([45]\d\d)\b|\b(?:status|code|http|https|error)[\s\w]{0,12}[\s:=(\"']{1,3}([45]\d\d)\b", re.IGNORECASE
)
"""Where a number is a status: at the beginning, as ``error.type`` is, or behind a word that says so."""

_OF_STATUS: Final[Mapping[int, ErrorClass]] = {
    401: "authentication",
    403: "authentication",
    404: "not_found",
    408: "timeout",
    429: "rate_limit",
    504: "timeout",
}
_SAID: Final[Mapping[ErrorClass, str]] = {
    "rate_limit": r"rate.?limit|too many requests|quota exceeded|throttl",
    "timeout": r"time[ds]?[ _-]?out|deadline.?exceeded",
    "authentication": r"\bunauthori[sz]ed|authentication.?(error|failed)|invalid api.?key|permission_?denied",
    "exhausted": r"out of memory|memoryerror|no space left|context.?length.?exceeded|resource.?exhausted",
    "setup": r"command not found|modulenotfounderror|no module named|importerror|not recognized as an internal",
    "server_error": r"internal.?server.?error|service.?unavailable|bad.?gateway|overloaded"
    r"|connection.?(refused|reset|error)",
    "not_found": r"\bnot_?found_?error\b|\bpage not found",
}
_WORDS: Final = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SAID.items()}
"""The first that is found counts."""


@dataclass(frozen=True)
class ExecutionErrors:
    """Count errors of execution by class (TRAIL, system execution; B.11), of tools and of models.

    Read from ``error.type``, the span's status and the error's words: a status code (401 and 403, 404, 429, 5xx, 408
    and 504), else words that name the class. What a tool's own domain answers ("no such user") is ``other`` and raises
    no flag; nor does a refusal on purpose. Score: errors of a class.
    """

    name: str = "execution_errors"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count them."""
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        classes = classes_of(trial)
        if not classes and trial.completeness.calls_whole:
            return None
        counts = Counter(classes.values())
        system = {span: kind for span, kind in classes.items() if kind != "other"}
        told: dict[str, Plain] = {**dict(sorted(counts.items()))}
        spans: list[Plain] = [{"span_id": span, "class": kind} for span, kind in classes.items()]
        return said(
            self.name,
            trial,
            flagged=bool(system),
            score=float(len(system)),
            told=", ".join(f"{kind} {count}" for kind, count in told.items()) or "no error",
            spans=tuple(system),
            details={"classes": told, "errors": spans},
        )


def classes_of(trial: Trial) -> dict[str, ErrorClass]:
    """Return the class of each error by its span; a call without a span has a name that no span has."""
    errors: dict[str, str] = {}
    refused: set[str] = set()
    for call in trial.tool_calls:
        error = error_of(call)
        if error is not None:
            errors.setdefault(call.span_ids[0] if call.span_ids else f"call {len(errors)}", error)
        elif call.error is not None:
            refused.update(call.span_ids)
    for step in trial.steps:
        if step.failed and step.kind in ("model_call", "tool_call", "retrieval") and step.span_id not in refused:
            told_twice = errors.get(step.span_id, "")
            errors[step.span_id] = "; ".join(dict.fromkeys(filter(None, (step.error, told_twice)))) or "error"
    return {span: class_of(error) for span, error in errors.items()}


def class_of(error: str) -> ErrorClass:
    """Return the class of an error, by its status code, else by its words."""
    head = error[:2000]
    found = _STATUS.search(head)
    if found is not None:
        code = int(found[1] or found[2])
        if code in _OF_STATUS:
            return _OF_STATUS[code]
        if code >= 500:
            return "server_error"
    return next((kind for kind, pattern in _WORDS.items() if pattern.search(head)), "other")
