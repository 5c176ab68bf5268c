"""Which isolation was in force while trials ran, as their labels say."""

from collections import Counter
from collections.abc import Iterable

from spanproof_evaluators.model.assessments import Assessment

LABEL = "isolation"
"""The label under which ``spanproof suite run`` says how an agent was shut in."""


def isolation(assessments: Iterable[Assessment]) -> dict[str, int]:
    """Return how many trials ran in which isolation; empty where nobody says so of any."""
    found = Counter(one.trial.labels[LABEL] for one in assessments if LABEL in one.trial.labels)
    return dict(sorted(found.items()))


def isolation_words(assessments: Iterable[Assessment]) -> str | None:
    """Return it in words; ``None`` where nobody says."""
    every = list(assessments)
    found = isolation(every)
    if not found:
        return None
    unsaid = len(every) - sum(found.values())
    told = [f"{mode} ({count})" for mode, count in found.items()] + ([f"unknown ({unsaid})"] if unsaid else [])
    return f"isolation: {', '.join(told)}"
