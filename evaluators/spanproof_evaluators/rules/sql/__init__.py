"""Rules as SQL: one statement each over the trials as they were read, saying what the rule in Python says.

A statement answers project, trial (its key), task, variant, state, score and span ids, and no row where the rule has
nothing to say. What a task demands is given by parameters; ``None`` where nobody demands it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from spanproof_evaluators.model.expected_effects import identity
from spanproof_evaluators.model.suites import Task

FOLDER: Final = Path(__file__).parent
_PLACE: Final = re.compile(r"\{(\w+):([^{}]+)\}")

DEFAULTS: Final[Mapping[str, object]] = {
    "unit": "session",
    "max_repeats": 0,
    "forbidden_tools": [],
    "required_tools": [],
    "max_steps": None,
    "max_tool_calls": None,
    "max_tokens": None,
    "max_cost_usd": None,
    "expected_calls": None,
    "reference_calls": None,
}
"""What holds where a parameter is not given. Without ``reference`` the rules on it have nothing to say."""


@dataclass(frozen=True)
class SqlRule:
    """A rule's statement. Its placeholders are those of ClickHouse: ``{name:Type}``."""

    name: str

    @cached_property
    def text(self) -> str:
        """The whole file, with the comment that says what it looks for."""
        return (FOLDER / f"{self.name}.sql").read_text(encoding="utf-8")

    @cached_property
    def statement(self) -> str:
        """The statement alone."""
        return "\n".join(line for line in self.text.splitlines() if not line.startswith("--"))

    @cached_property
    def about(self) -> str:
        """What it looks for, in a sentence."""
        return " ".join(line[3:] for line in self.text.splitlines() if line.startswith("--"))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Its parameters, and ClickHouse's types of them."""
        return dict(_PLACE.findall(self.statement))

    def asked(self, given: Mapping[str, object]) -> dict[str, object] | None:
        """Return the values of its parameters; ``None`` where one is missing that has no default."""
        values = {**DEFAULTS, **given}
        return {name: values[name] for name in self.parameters} if self.parameters.keys() <= values.keys() else None


WAITING: Final = SqlRule("waiting")
"""No rule: how many traces no statement sees."""

SQL_RULES: Final[Mapping[str, SqlRule]] = {
    name: SqlRule(name)
    for name in (
        "forbidden_tools",
        "duplicate_effect",
        "budgets",
        "unknown_effect",
        "read_changed_state",
        "required_tools",
        "too_many_calls",
        "repeats",
        "repeats_since_write",
        "identical_run",
        "same_result",
        "ping_pong",
        "same_error",
        "redundancy",
        "step_efficiency",
        "recovery_after_error",
        "monologue",
        "execution_errors",
        "calls_after_completion",
        "trajectory_exact_match",
        "trajectory_in_order_match",
        "trajectory_any_order_match",
        "trajectory_precision",
        "trajectory_recall",
        "false_success",
    )
}
"""Every rule that has a statement, in the order in which rules are asked."""

WITHOUT_SQL: Final[Mapping[str, str]] = {
    "unsafe_retry": "whether a read looked a write up is told by the texts of both calls' arguments",
    "effect_ledger": "expected effects may name some arguments only, and the rows hold a hash of all of them",
    "first_divergent_effect": "expected effects may name some arguments only, and the rows hold a hash of all of them",
    "trajectory_mode_match": "its modes compare arguments in part, and the rows hold a hash of all of them",
    "tool_argument_match": "arguments are compared one by one, and the rows hold a hash of all of them",
    "injection": "the attack's effects may name some arguments only, and its markers are looked for in answers",
    "tool_call_validity": "it holds arguments against the JSON Schema of their tool",
    "check_before_completion": "whether a command checks anything is told by its text",
    "checked_claims": "it reads the agent's words, its commands and their output",
    "protected_edits": "it reads paths, patches and commands",
}
"""Why a rule has no statement: what it looks at is text, which the rows do not hold."""


def parameters_of(task: Task | None) -> dict[str, object]:
    """Return what a task demands as the parameters of the statements."""
    if task is None:
        return {}
    reference = task.reference_trajectory
    given: dict[str, object] = {
        "max_repeats": task.max_repeats or 0,
        "expected_calls": task.expected_calls,
        "forbidden_tools": list(task.forbidden_tools),
        "required_tools": list(task.required_tools),
        "max_steps": task.limits.max_steps,
        "max_tool_calls": task.limits.max_tool_calls,
        "max_tokens": task.limits.max_tokens,
        "max_cost_usd": task.limits.max_cost_usd,
    }
    if reference is not None:
        given["reference"] = [identity(one.tool, one.arguments) for one in reference]
        given["reference_calls"] = len(reference)
    return given
