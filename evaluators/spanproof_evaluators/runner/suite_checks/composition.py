"""How a set is made up: how many tasks, of which categories, how often each is tried, and whether it has each once."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite

FEWEST: Final = 20
ENOUGH: Final = 50
"""Below the first noise drowns every difference, from the second on a set is a start (R064, R089)."""

REFUSAL_SHARE: Final = 0.18
FEWEST_RUNS: Final = 3
OFF_TARGET: Final = 0.05
"""A share may be so far from its target."""

FOUNDING_SHARES: Final = {
    "wyszukanie_z_cytatem": 0.30,
    "synteza": 0.25,
    "poprawna_odmowa": 0.20,
    "wieloetapowe": 0.15,
    "odpornosc": 0.10,
}
"""The targets of a set whose categories are called so (R091)."""

_WORDS: Final = re.compile(r"\w+")
_SHINGLE: Final = 3


def size(suite: Suite) -> SuiteFinding:
    """Return whether there are enough tasks."""
    found = len(suite.tasks)
    facts = {"tasks": found, "fewest": FEWEST, "enough": ENOUGH}
    if found < FEWEST:
        return SuiteFinding(
            id="size", level="failure", says=f"{found} tasks: fewer than {FEWEST} drown in noise", facts=facts
        )
    if found < ENOUGH:
        return SuiteFinding(
            id="size",
            level="warning",
            says=f"{found} tasks: {ENOUGH} are enough to start, 100 a good target",
            facts=facts,
        )
    return SuiteFinding(id="size", level="ok", says=f"{found} tasks", facts=facts)


def refusals(suite: Suite) -> SuiteFinding:
    """Return whether enough tasks have a refusal for a right answer (R092, R110)."""
    found = [task.id for task in suite.tasks if task.refusal]
    share = len(found) / len(suite.tasks) if suite.tasks else 0.0
    facts = {"refusals": len(found), "tasks": len(suite.tasks), "share": share, "least": REFUSAL_SHARE}
    enough = share >= REFUSAL_SHARE
    says = f"{len(found)} of {len(suite.tasks)} tasks ({share:.0%}) are to be refused"
    return SuiteFinding(
        id="refusals",
        level="ok" if enough else "failure",
        says=says
        if enough
        else f"{says}, and {REFUSAL_SHARE:.0%} is the least: without them one optimizes self-confidence",
        facts=facts,
    )


def categories(suite: Suite) -> Iterator[SuiteFinding]:
    """Yield where the categories' shares are not what they are to be."""
    found = Counter(task.category for task in suite.tasks)
    unnamed = found.pop("", 0)
    if unnamed:
        ids = tuple(task.id for task in suite.tasks if not task.category)
        yield SuiteFinding(id="no_category", level="warning", says=f"{unnamed} tasks are of no category", tasks=ids)
    targets = suite.shares or (FOUNDING_SHARES if found and found.keys() <= FOUNDING_SHARES.keys() else {})
    if not targets:
        yield SuiteFinding(
            id="shares",
            level="note",
            says=f"{len(found)} categories and no target shares: say 'shares' to have them held",
            facts={"categories": dict(found)},
        )
        return
    total = len(suite.tasks)
    for name, target in targets.items():
        share = found[name] / total if total else 0.0
        facts = {"category": name, "tasks": found[name], "share": share, "target": target, "margin": OFF_TARGET}
        if not found[name]:
            yield SuiteFinding(
                id="shares",
                level="failure",
                says=f"no task of category {name}: nothing is said of what it guards",
                facts=facts,
            )
        elif abs(share - target) > OFF_TARGET + 1e-9:
            yield SuiteFinding(
                id="shares",
                level="warning",
                says=f"category {name} has {share:.0%} of the tasks, and {target:.0%} is its target",
                facts=facts,
            )
    for name in sorted(found.keys() - targets.keys()):
        yield SuiteFinding(id="shares", level="warning", says=f"category {name} has no target share")
    if sum(targets.values()) > 1 + 1e-9:
        yield SuiteFinding(id="shares", level="failure", says="the target shares are more than the whole")


def runs(suite: Suite) -> SuiteFinding:
    """Return whether each task is tried often enough (R109)."""
    few = tuple(task.id for task in suite.tasks if task.runs is not None and task.runs < FEWEST_RUNS)
    if few:
        return SuiteFinding(
            id="runs",
            level="failure",
            says=f"{len(few)} tasks are run fewer than {FEWEST_RUNS} times: one run is a lottery",
            tasks=few,
            facts={"least": FEWEST_RUNS},
        )
    differing = sorted({task.runs for task in suite.tasks if task.runs is not None})
    if len(differing) > 1:
        told = ", ".join(str(one) for one in differing)
        return SuiteFinding(
            id="runs", level="warning", says=f"tasks are run {told} times: pass^k counts those of the least alone"
        )
    return SuiteFinding(
        id="runs", level="ok", says=f"every task is run {differing[0] if differing else FEWEST_RUNS} times or as asked"
    )


def duplicates(suite: Suite, similar: float) -> Iterator[SuiteFinding]:
    """Yield the pairs of prompts that are alike: they count one thing twice."""
    parts = [(task.id, shingles(task.prompt)) for task in suite.tasks if task.prompt.strip()]
    pairs: list[tuple[str, str, float]] = []
    for place, (one, first) in enumerate(parts):
        for other, second in parts[place + 1 :]:
            if min(len(first), len(second)) < similar * max(len(first), len(second)):
                continue
            alike = len(first & second) / len(first | second)
            if alike >= similar:
                pairs.append((one, other, alike))
    facts = {"threshold": similar, "of": "Jaccard similarity of three-word shingles of the prompts"}
    for one, other, alike in pairs:
        same = alike == 1
        yield SuiteFinding(
            id="duplicates",
            level="failure" if same and _same(suite, one, other) else "warning",
            says=f"{one} and {other} ask {'' if same else 'nearly '}the same ({alike:.2f}, from {similar:g} on)",
            tasks=(one, other),
            facts={**facts, "similarity": alike},
        )
    if not pairs:
        yield SuiteFinding(
            id="duplicates", level="ok", says=f"no two prompts are alike (from {similar:g} on)", facts=facts
        )


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return the three-word runs of a text, case apart; of a shorter text, itself."""
    words = _WORDS.findall(text.casefold())
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1)))


def _same(suite: Suite, one: str, other: str) -> bool:
    """Return whether two tasks begin alike and are judged alike, too."""
    first, second = suite.task(one), suite.task(other)
    assert first is not None
    assert second is not None
    return (first.start, first.checks, first.changes) == (second.start, second.checks, second.changes)
