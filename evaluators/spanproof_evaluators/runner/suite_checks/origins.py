"""Where tasks come from: from work that really happened, failures included, and never from the model that is tried."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite

FROM_LOGS: Final = 20
_REAL: Final = ("log", "failure", "ticket")


def origins(suite: Suite) -> SuiteFinding:
    """Return how many tasks come from real work (R093, R110)."""
    found = Counter("unknown" if task.origin is None else task.origin.source for task in suite.tasks)
    logged = found["log"] + found["failure"]
    facts = {"from_logs": logged, "least": FROM_LOGS, "by_source": dict(sorted(found.items()))}
    if logged >= FROM_LOGS:
        return SuiteFinding(id="origins", level="ok", says=f"{logged} tasks come from logs", facts=facts)
    unsaid = f"; of {found['unknown']} nobody says where they come from" if found["unknown"] else ""
    return SuiteFinding(
        id="origins",
        level="warning",
        says=f"{logged} tasks come from logs, and {FROM_LOGS} are asked for{unsaid}. 'spanproof suite mine' finds some",
        facts=facts,
    )


def unchecked(suite: Suite) -> Iterator[SuiteFinding]:
    """Yield the tasks whose truth a model gave and nobody checked (R095)."""
    found = tuple(
        task.id
        for task in suite.tasks
        if task.origin is not None
        and (task.origin.model is not None or task.origin.source == "generated")
        and not task.origin.checked_by
    )
    if found:
        yield SuiteFinding(
            id="unchecked_answers",
            level="failure",
            says=f"{len(found)} tasks rest on what a model wrote, and nobody is named who checked it: they measure "
            "repeatability, not correctness",
            tasks=found,
        )


def survivorship(suite: Suite) -> SuiteFinding:
    """Return whether those that come from recorded trials come from successes alone (R056, A.6 of R094)."""
    known = [task for task in suite.tasks if task.origin is not None and task.origin.outcome is not None]
    bad = [task for task in known if task.origin is not None and task.origin.outcome != "verified"]
    facts = {"recorded": len(known), "not_verified": len(bad)}
    if known and not bad:
        return SuiteFinding(
            id="survivorship",
            level="warning",
            says=f"all {len(known)} recorded trials that tasks were taken from went well: that says nothing of where "
            "the agent fails",
            tasks=tuple(task.id for task in known),
            facts=facts,
        )
    real = sum(task.origin is not None and task.origin.source in _REAL for task in suite.tasks)
    says = (
        f"{len(bad)} of {len(known)} recorded trials went wrong" if known else "no task names the outcome it came from"
    )
    return SuiteFinding(
        id="survivorship", level="ok" if known else "note", says=says, facts={**facts, "real_work": real}
    )
