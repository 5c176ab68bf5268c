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
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.canonical import digest

Scalar: TypeAlias = str | int | float | bool | None
"""What a column of a row is compared with: by JSON value, with no conversion."""


class Written(BaseModel):
    """Text that people write: unknown keys are refused, values do not change and are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Limits(Written):
    """What a trial may spend. ``None`` is no limit."""

    max_steps: int | None = Field(default=None, ge=0)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: Decimal | None = Field(default=None, ge=0, strict=False)


class Counted(Written):
    """How many are expected; at least one where nothing is said."""

    exactly: int | None = Field(default=None, ge=0)
    at_least: int | None = Field(default=None, ge=0)
    at_most: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("give exactly, or at_least and at_most, not both")
        return self

    @property
    def expected(self) -> tuple[int, int | None]:
        """The fewest and the most that pass; ``None`` is no upper limit."""
        if self.exactly is not None:
            return self.exactly, self.exactly
        if self.at_least is None and self.at_most is None:
            return 1, None
        return self.at_least or 0, self.at_most

    @property
    def described(self) -> str:
        """The expectation in words."""
        low, high = self.expected
        if low == high:
            return f"exactly {low}"
        if high is None:
            return f"at least {low}"
        return f"{low} to {high}" if low else f"at most {high}"


class RowsCheck(Counted):
    """Rows of a table: how many match ``where``, and what each of them holds in ``values``."""

    kind: Literal["rows"]
    table: str
    where: dict[str, Scalar] = {}
    values: dict[str, Scalar] = {}


class FilesCheck(Counted):
    """Files: how many match ``glob`` and hold every text of ``contains``."""

    kind: Literal["files"]
    glob: str
    contains: tuple[str, ...] = Field(default=(), strict=False)


class UnchangedCheck(Written):
    """Tables and files (by glob) that are the same before and after."""

    kind: Literal["unchanged"]
    tables: tuple[str, ...] = Field(default=(), strict=False)
    files: tuple[str, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.tables and not self.files:
            raise ValueError("name tables or files that stay unchanged")
        return self


class AnswerCheck(Written):
    """The submitted answer, compared after Unicode NFC and with white space folded."""

    kind: Literal["answer"]
    contains: tuple[str, ...] = Field(default=(), strict=False)
    not_contains: tuple[str, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.contains and not self.not_contains:
            raise ValueError("say what the answer contains or does not contain")
        return self


CheckSpec: TypeAlias = Annotated[RowsCheck | FilesCheck | UnchangedCheck | AnswerCheck, Field(discriminator="kind")]


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

    expects: Literal["change", "no_change"] = "change"
    effects: Literal["none"] | None = None
    """``none``: the task is done without any external effect."""

    checks: tuple[CheckSpec, ...] = Field(default=(), strict=False)
    """Empty: no verifier, so every outcome is unavailable."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.expects == "no_change" and self.checks:
            still = any(isinstance(check, UnchangedCheck) for check in self.checks)
            if not still or not any(positive(check) for check in self.checks):
                raise ValueError(
                    "a task that expects no change needs an unchanged check and a positive one (an answer that "
                    "contains something, rows or files): else an agent that does nothing passes"
                )
        return self


def positive(check: CheckSpec) -> bool:
    """Return whether a check asks for something to be there."""
    match check:
        case RowsCheck() | FilesCheck():
            return check.expected[0] > 0
        case AnswerCheck():
            return bool(check.contains)
        case UnchangedCheck():
            return False


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
