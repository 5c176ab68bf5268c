"""Tasks and suites: what was asked and how the end state is judged, as people write it in a JSON file.

    {"id": "shop", "tasks": [
      {"id": "refund-1001", "category": "refund", "prompt": "Refund order ORD-1001.",
       "required_tools": ["issue_refund"], "forbidden_tools": ["delete_order"],
       "limits": {"max_steps": 12, "max_tool_calls": 6, "max_tokens": 20000, "max_cost_usd": "0.60"},
       "max_repeats": 0, "expects": "change", "effects": null,
       "checks": [
         {"kind": "rows", "table": "refunds", "where": {"order_id": "ORD-1001"}, "exactly": 1,
          "values": {"amount": 25}},
         {"kind": "files", "glob": "outbox/*.eml", "at_least": 1, "contains": ["ORD-1001"]},
         {"kind": "unchanged", "tables": ["customers"], "files": ["policy/*"]},
         {"kind": "answer", "contains": ["ORD-1001"], "not_contains": ["cannot"]}]}]}

An unknown key is refused: a misspelled limit would otherwise be no limit.
"""

from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.checks import AnyCheck
from spanproof_evaluators.model.written import Written


class Limits(Written):
    """What a trial may spend. ``None`` is no limit."""

    max_steps: int | None = Field(default=None, ge=0)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: Decimal | None = Field(default=None, ge=0, strict=False)


class Task(Written):
    """What was asked, within which limits, and how the end state is judged."""

    id: str = Field(min_length=1)
    category: str = ""
    prompt: str = ""
    required_tools: tuple[str, ...] = Field(default=(), strict=False)
    forbidden_tools: tuple[str, ...] = Field(default=(), strict=False)
    limits: Limits = Limits()
    max_repeats: int | None = Field(default=None, ge=0)
    """``None``: the task says nothing of repeats."""

    milestones: tuple[str, ...] = Field(default=(), strict=False)
    """Keys of ``spanproof.progress`` that the work passes, each reached once; empty: nobody counts them."""

    expects: Literal["change", "no_change"] = "change"
    effects: Literal["none"] | None = None
    """``none``: the task is done without any external effect."""

    checks: tuple[AnyCheck, ...] = Field(default=(), strict=False)
    """Empty: no verifier, so every outcome is unavailable."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        kept = any(check.still for check in self.checks) and any(check.positive for check in self.checks)
        if self.expects == "no_change" and self.checks and not kept:
            raise ValueError(
                "a task that expects no change needs an unchanged check and a positive one (an answer that "
                "contains something, rows or files): else an agent that does nothing passes"
            )
        return self


class Suite(Written):
    """Tasks under one name, versioned by the hash of their canonical form."""

    id: str = Field(min_length=1)
    tasks: tuple[Task, ...] = Field(strict=False)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for task in self.tasks:
            if task.id in seen:
                raise ValueError(f"two tasks are called {task.id!r}")
            seen.add(task.id)
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex: layout, key order and defaults that are spelled out do not matter."""
        return digest(self.model_dump(mode="python"))

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}

    def task(self, task_id: str | None) -> Task | None:
        """Return the task of that id, ``None`` where there is none."""
        return None if task_id is None else self._by_id.get(task_id)


def read_suite(path: Path) -> Suite:
    """Return the suite that a JSON file holds.

    Raises:
        SuiteError: the file cannot be read, is no JSON, or a key is unknown, missing or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(str(path), "", f"cannot be read: {error}") from error
    return parse_suite(text, name=str(path))


def parse_suite(text: str, *, name: str) -> Suite:
    """Return the suite that a JSON text holds; ``name`` is what errors call it.

    Raises:
        SuiteError: the text is no JSON, or a key is unknown, missing or wrong.
    """
    try:
        return Suite.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        match first["type"]:
            case "extra_forbidden":
                why = "unknown key. Remove it, or spell it as the documentation does"
            case "missing":
                why = "missing"
            case "json_invalid":
                why = f"no JSON: {first['msg']}"
            case _:
                why = first["msg"].removeprefix("Value error, ")
        more = error.error_count() - 1
        raise SuiteError(name, key, why + (f" (and {more} more)" if more else "")) from error
