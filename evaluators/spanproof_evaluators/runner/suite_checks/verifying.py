"""How tasks begin and how they are judged: whether anything decides, and whether the agent can turn it round."""

from collections.abc import Iterator
from typing import Final

from spanproof_evaluators.model.checks import CommandCheck
from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.python_suites import OpenSuite

_RUN: Final = ("command", "python")
"""Kinds of checks of which only a run tells whether doing nothing passes them."""


def verifiers(opened: OpenSuite) -> Iterator[SuiteFinding]:
    """Yield the tasks that nothing judges, and those whose checks ask for nothing to be there."""
    suite = opened.suite
    without = tuple(task.id for task in suite.tasks if not task.checks and task.id not in opened.verifiers)
    if without:
        yield SuiteFinding(
            id="no_verifier", level="failure", says=f"{len(without)} tasks have no check: no outcome", tasks=without
        )
    idle = tuple(
        task.id
        for task in suite.tasks
        if task.checks
        and task.id not in opened.verifiers
        and not any(check.required and (check.positive or check.kind in _RUN) for check in task.checks)
    )
    if idle:
        yield SuiteFinding(
            id="passes_idle",
            level="failure",
            says=f"{len(idle)} tasks ask for nothing to be there: an agent that does nothing passes",
            tasks=idle,
        )
    if not without and not idle:
        yield SuiteFinding(id="verifiers", level="ok", says="every task has a check that asks for something")


def deciding(suite: Suite) -> Iterator[SuiteFinding]:
    """Yield the tasks that parts can pass without any check that has to (A.6 of R021)."""
    parts = tuple(
        task.id
        for task in suite.tasks
        if task.pass_score is not None and task.checks and not any(check.required for check in task.checks)
    )
    if parts:
        yield SuiteFinding(
            id="partial_credit",
            level="warning",
            says=f"{len(parts)} tasks pass by a score alone: say required: true of what has to be so, as that it runs",
            tasks=parts,
        )


def seen_tests(suite: Suite) -> Iterator[SuiteFinding]:
    """Yield the tasks whose commands run tests that lie in the agent's reach (R084)."""
    found = tuple(
        task.id
        for task in suite.tasks
        if task.hidden is None
        and not task.protected
        and any(isinstance(check, CommandCheck) for check in task.checks)
        and not any(getattr(check, "tests_untouched", False) for check in task.checks)
    )
    if found:
        yield SuiteFinding(
            id="seen_tests",
            level="warning",
            says=f"{len(found)} tasks are judged by commands over files that the agent can change: hide the tests "
            "(hidden), protect them (protected), or check that they are untouched",
            tasks=found,
        )


def starts(opened: OpenSuite) -> Iterator[SuiteFinding]:
    """Yield how many tasks begin in a frozen state."""
    bare = tuple(task.id for task in opened.suite.tasks if task.start is None and task.id not in opened.starts)
    if bare:
        yield SuiteFinding(
            id="starts",
            level="note",
            says=f"{len(bare)} of {len(opened.suite.tasks)} tasks begin in an empty folder",
            tasks=bare,
        )


def changing_worlds(suite: Suite) -> SuiteFinding:
    """Return how many tasks have a world that changes while the agent works (R106)."""
    found = tuple(task.id for task in suite.tasks if task.changes or task.user is not None)
    says = f"{len(found)} tasks have a world that changes under the agent" + ("" if found else ": add three to five")
    return SuiteFinding(id="changing_worlds", level="ok" if found else "note", says=says, tasks=found)
