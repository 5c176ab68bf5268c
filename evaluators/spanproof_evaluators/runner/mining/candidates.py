"""Candidates for tasks out of recorded trials: from every stratum, failures first, each once, and never with an answer.

Only what was asked is taken. What is right is for a person to say: the answer that is on record is the agent's own, and
a set that takes it for the truth measures how well the agent repeats itself (R095).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.redacting import redacted
from spanproof_evaluators.model.suite_formats import DRAFT
from spanproof_evaluators.runner.suite_checks.composition import shingles

Fate: TypeAlias = Literal[
    "false success", "failed", "unknown effect", "broke off", "unproven", "no verdict", "verified"
]
FATES: Final[tuple[Fate, ...]] = (
    "false success",
    "failed",
    "unknown effect",
    "broke off",
    "unproven",
    "no verdict",
    "verified",
)
"""What became of a trial; those that hurt first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A recorded trial that a task could be made of."""

    one: Assessment
    fate: Fate
    stratum: str
    """Fate, agent, and what kind of tools were used."""

    prompt: str
    redactions: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """What was found."""

    candidates: tuple[Candidate, ...]
    strata: dict[str, int]
    """Trials of each stratum, chosen or not."""

    left: dict[str, int]
    """Trials that could be no candidate, by reason."""


def fate_of(one: Assessment) -> Fate:
    """Return what became of a trial."""
    if one.false_success:
        return "false success"
    if one.outcome.state == "failed":
        return "failed"
    if one.unknown:
        return "unknown effect"
    if one.trial.status in ("error", "aborted"):
        return "broke off"
    if one.outcome.state == "verified":
        return "verified"
    return "unproven" if one.unproven else "no verdict"


def mine(assessments: Iterable[Assessment], *, most: int, similar: float, known: Sequence[str] = ()) -> Mined:
    """Return so many candidates, taken from every stratum by turns, failures first.

    Args:
        assessments: recorded trials.
        most: so many at most.
        similar: prompts are one from this Jaccard similarity of their three-word shingles on.
        known: prompts of tasks that there are already.
    """
    strata: defaultdict[str, list[Assessment]] = defaultdict(list)
    left: Counter[str] = Counter()
    for one in assessments:
        if one.left_out is not None:
            left[one.left_out] += 1
        elif not one.trial.prompt or not one.trial.prompt.strip():
            left["no_prompt"] += 1
        else:
            strata[_stratum(one)].append(one)
    order = sorted(strata, key=lambda name: (FATES.index(fate_of(strata[name][0])), name))
    waiting = {name: sorted(strata[name], key=lambda one: -one.trial.started_at) for name in order}
    seen = [shingles(text) for text in known]
    chosen: list[Candidate] = []
    while len(chosen) < most and any(waiting.values()):
        for name in order:
            while waiting[name] and len(chosen) < most:
                one = waiting[name].pop(0)
                words = shingles(one.trial.prompt or "")
                if any(len(words & other) >= similar * len(words | other) for other in seen):
                    left["duplicate"] += 1
                    continue
                seen.append(words)
                text, redactions = redacted(one.trial.prompt or "")
                chosen.append(Candidate(one=one, fate=fate_of(one), stratum=name, prompt=text, redactions=redactions))
                break
    left["not_needed"] = sum(len(rest) for rest in waiting.values())
    return Mined(
        candidates=tuple(chosen),
        strata={name: len(strata[name]) for name in order},
        left={reason: count for reason, count in sorted(left.items()) if count},
    )


def draft(found: Candidate, task_id: str) -> dict[str, Plain]:
    """Return a task that a person has to finish: it loads nowhere until then."""
    trial = found.one.trial
    origin: dict[str, Plain] = {
        "source": "log" if found.fate in ("verified", "no verdict", "unproven") else "failure",
        "trial": trial.trial_id,
        "outcome": found.one.outcome.state,
    }
    left: list[Plain] = ["category", "start", "checks"]
    if found.redactions:
        left.append("what was redacted")
    told: dict[str, Plain] = {
        "id": task_id,
        DRAFT: left,
        "category": "",
        "prompt": found.prompt,
        "runs": 3,
        "origin": origin,
        "checks": [],
    }
    return told


def drafts(mined: Mined) -> list[dict[str, Plain]]:
    """Return every candidate as a draft."""
    return [draft(one, f"mined-{place:03}") for place, one in enumerate(mined.candidates, start=1)]


def _stratum(one: Assessment) -> str:
    classes = {call.effect.effect_class for call in one.trial.tool_calls if call.executed != "no"}
    kind = "changes things" if classes & {"write", "destructive"} else "reads" if classes else "answers"
    agent = one.trial.agent_name or "an agent without a name"
    return f"{fate_of(one)} / {agent} / {kind}"
