"""Checks that nobody can meet: each expectation is one that no world has, so a check that reads it must fail."""

from typing import Final

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.checks import CheckSpec
from spanproof_evaluators.model.suites import Task

NONCE: Final = "spanproof-impossible-5f0c"
"""A text that no world holds."""

_MANY: Final = 1_000_003


def impossible(task: Task) -> Task | None:
    """Return a task with checks that ask for what is not there; ``None`` where no check can be made to.

    A command and a Python function decide by code of their own, in which nothing can be altered.
    """
    altered = [other for check in task.checks if (other := _altered(check)) is not None]
    if not altered:
        return None
    whole = task.model_dump(mode="python", exclude_defaults=True)
    whole["checks"] = altered
    whole.pop("pass_score", None)
    whole["expects"] = "change"
    return Task.model_validate(whole)


def _altered(check: CheckSpec) -> dict[str, Plain] | None:
    """Return a check with one expectation that cannot be met; ``None`` where it has none of that kind."""
    told: dict[str, Plain] = {**check.model_dump(mode="json", exclude_defaults=True), "kind": check.kind}
    told["required"] = True
    match check.kind:
        case "answer":
            return {"kind": "answer", "contains": [NONCE]}
        case "rows" | "sql":
            for key in ("at_least", "at_most"):
                told.pop(key, None)
            if isinstance(told.get("rows"), list):
                return None
            return told | {"exactly": _MANY}
        case "files":
            for key in ("at_least", "at_most", "exactly", "not_contains"):
                told.pop(key, None)
            return told | {"contains": [NONCE], "at_least": 1}
        case "git":
            return told | {"changed": [f"{NONCE}/**"]} if told.get("base") else None
    return None
