"""What has to be said wherever verdicts of judges are shown: relatives of the agent, and families nobody knows."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.judgements import FAMILY_UNKNOWN, SAME_FAMILY
from spanproof_evaluators.reports.wording import plural

_SAYS: Final = {
    SAME_FAMILY: "is of the agent's own model family, and was allowed to judge it",
    FAMILY_UNKNOWN: "may be of the agent's own model family: one of the two is not known",
}


def flags_of(one: Assessment) -> list[tuple[str, str]]:
    """Return evaluator and flag of every flagged verdict on a trial."""
    found = []
    for result in one.judges:
        told = result.details.get("judgement")
        flags = told.get("flags") if isinstance(told, dict) else None
        if isinstance(flags, list):
            found += [(result.evaluator, str(flag)) for flag in flags]
    return found


def judge_flags(assessments: Iterable[Assessment]) -> list[str]:
    """Return a sentence for each judge and flag, with the number of verdicts."""
    counts = Counter(pair for one in assessments for pair in flags_of(one))
    return [
        f"{evaluator} {_SAYS.get(flag, flag)} ({plural(count, 'verdict')})"
        for (evaluator, flag), count in sorted(counts.items())
    ]
