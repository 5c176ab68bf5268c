"""Tasks and suites: what was asked and how the end state is judged, as people write it in a JSON or YAML file.

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

A task that ``spanproof suite run`` runs says where it begins, too: ``start``, ``hidden``, ``protected``, ``changes``
and ``user`` (``model.starts``).

An unknown key is refused: a misspelled limit would otherwise be no limit.
"""

import json
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, PrivateAttr, model_validator

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.checks import AnyCheck
from spanproof_evaluators.model.destinations import Destination
from spanproof_evaluators.model.documents import parse_document, read_texts, yaml_values
from spanproof_evaluators.model.origins import Origin, Reference
from spanproof_evaluators.model.starts import DATABASE, WORLD, Change, Hidden, ScriptedUser, Start
from spanproof_evaluators.model.suite_formats import as_suite, lines_of
from spanproof_evaluators.model.verifier_files import places_named, sound
from spanproof_evaluators.model.written import Written

REFUSALS: Final = frozenset({"refusal", "correct_refusal", "poprawna_odmowa"})
"""Categories whose right answer is a refusal, in English and as the founding set calls it."""


class Limits(Written):
    """What a trial may spend. ``None`` is no limit."""

    max_steps: int | None = Field(default=None, ge=0)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: Decimal | None = Field(default=None, ge=0, strict=False)
    max_turns: int | None = Field(default=None, ge=0)
    """Calls of the model."""

    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """These four only ``spanproof suite run`` can hold an agent to."""

    max_processes: int | None = Field(default=None, ge=1)
    max_disk_bytes: int | None = Field(default=None, ge=0)
    """What the world and the agent's home may grow by."""

    max_output_bytes: int | None = Field(default=None, ge=0)


class ExpectedEffectSpec(Written):
    """An external effect that the task asks for: one call of a tool, with arguments that are compared exactly."""

    tool: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(default={})
    compare: tuple[str, ...] | None = Field(default=None, strict=False)
    """The arguments that are compared; all, where nothing is said."""


Normalisation: TypeAlias = Literal["text", "bfcl"]
"""How a text may be compared: white space, case and Unicode form apart; or as the Berkeley leaderboard publishes it."""


class ReferenceCall(Written):
    """One call of a reference trajectory."""

    tool: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(default={})
    accept: dict[str, tuple[JsonValue, ...]] = Field(default={}, strict=False)
    """Values that do as well, by parameter. For ``tool_argument_match`` alone, as what follows."""

    optional: tuple[str, ...] = Field(default=(), strict=False)
    """Parameters that a call may leave out."""

    normalise: dict[str, Normalisation] = Field(default={})
    """Parameters of free text, and how they are compared. Every other one is compared exactly."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        for about, names in (("accept", self.accept), ("optional", self.optional), ("normalise", self.normalise)):
            for name in names:
                if name not in self.arguments:
                    raise ValueError(f"{about} names {name!r}, which is none of the arguments of {self.tool}")
        for name in (name for name, kind in self.normalise.items() if kind == "bfcl"):
            values = (self.arguments[name], *self.accept.get(name, ()))
            if any(not isinstance(value, str) or any(sign.isdigit() for sign in value) for value in values):
                raise ValueError(
                    f"{name} is normalised as bfcl, which takes 10.5 for 105 and -5 for 5: only texts without digits"
                )
        return self


class ReferenceMatch(Written):
    """A mode of agentevals: which side has to hold the other, and how the arguments of two calls compare."""

    mode: Literal["strict", "unordered", "subset", "superset"] = "superset"
    """``strict``: the same calls in the same order; ``superset``: every call of the reference was made; ``subset``:
    every call made is in the reference; ``unordered``: both."""

    arguments: Literal["exact", "ignore", "subset", "superset"] = "exact"
    """``superset``: calls of the side that is to hold the other have at least its arguments; ``subset``: at most."""


class Injection(Written):
    """An attack on the agent: instructions that stand in what its tools show it, and what they want it to do."""

    effects: tuple[ExpectedEffectSpec, ...] = Field(default=(), strict=False)
    """The attack succeeded where each of these calls was made and answered, each as often as it stands here."""

    checks: tuple[AnyCheck, ...] = Field(default=(), strict=False)
    """It succeeded, too, where these pass on the recorded end state and did not before."""

    markers: tuple[str, ...] = Field(default=(), strict=False)
    """Texts of the instructions, any of which shows in a tool's answer that they reached the agent. White space and
    case do not matter. Empty: nobody says, and every trial counts as exposed."""

    user_task: str | None = Field(default=None, min_length=1)
    """The task that is asked for beside the attack, where it is a task of its own too; ``None``: this one."""

    @model_validator(mode="after")
    def _wants_something(self) -> Self:
        if not self.effects and not self.checks:
            raise ValueError("an injection says by effects or checks what the attack wants")
        if any(check.destinations for check in self.checks):
            raise ValueError("the checks of an injection look at the recorded end state, not at a destination")
        return self


class Task(Written):
    """What was asked, within which limits, and how the end state is judged."""

    id: str = Field(min_length=1)
    category: str = ""
    prompt: str = ""
    runs: int | None = Field(default=None, ge=1)
    """How often it is tried; ``None``: as often as whoever runs it says."""

    origin: Origin | None = None
    """Where it comes from; ``None``: nobody says."""

    reference: Reference | None = None
    """What solves it: for ``spanproof suite check --run``, never shown to an agent."""

    source: str | None = None
    """What the answer has to rest on, for judges; ``None``: there is none."""

    required_tools: tuple[str, ...] = Field(default=(), strict=False)
    forbidden_tools: tuple[str, ...] = Field(default=(), strict=False)
    limits: Limits = Limits()
    expected_calls: int | None = Field(default=None, ge=0)
    """Calls of tools that a good trajectory needs at most. More are a finding, and fail nothing."""

    max_repeats: int | None = Field(default=None, ge=0)
    """``None``: the task says nothing of repeats."""

    milestones: tuple[str, ...] = Field(default=(), strict=False)
    """Keys of ``spanproof.progress`` that the work passes, each reached once; empty: nobody counts them."""

    expects: Literal["change", "no_change", "refusal"] = "change"
    """``refusal``: the right answer is not to do it. Its checks say what that is, and that nothing changed."""

    injection: Injection | None = None
    """The attack under which the task is done; ``None``: there is none."""

    effects: Literal["none"] | None = None
    """``none``: the task is done without any external effect."""

    expected_effects: tuple[ExpectedEffectSpec, ...] | None = Field(default=None, strict=False)
    """Each effect that the task asks for, as often as it does; ``None``: the task says nothing of them."""

    reference_trajectory: tuple[ReferenceCall, ...] | None = Field(default=None, strict=False)
    """Calls in an order in which the task can be done; ``None``: nobody says. It decides nothing."""

    reference_match: ReferenceMatch | None = None
    """How the reference is to be matched (``trajectory_mode_match``); ``None``: nobody asks for a mode."""

    checks: tuple[AnyCheck, ...] = Field(default=(), strict=False)
    """Empty: no verifier, so every outcome is unavailable."""

    pass_score: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    """The part of the checks' weights that has to pass; a required check that failed fails whatever the score."""

    start: Start | None = None
    """What the world of each attempt begins with; ``None``: an empty folder."""

    hidden: Hidden | None = None
    """Files that judge the work and that the agent never sees."""

    protected: tuple[str, ...] | None = Field(default=None, strict=False)
    """Patterns of files that the agent may not change. ``None``: with ``hidden`` files, the hooks that could turn them
    round (``conftest.py`` and the like); else none."""

    changes: tuple[Change, ...] = Field(default=(), strict=False)
    """What happens in the world while the agent works."""

    user: ScriptedUser | None = None
    """The user, where a process plays it."""

    @model_validator(mode="after")
    def _without_effects(self) -> Self:
        if self.effects == "none" and self.expected_effects:
            raise ValueError("effects is none, and expected_effects names some: keep one of the two")
        return self

    @model_validator(mode="after")
    def _matched(self) -> Self:
        if self.reference_match is not None and self.reference_trajectory is None:
            raise ValueError("reference_match says how a reference is matched, and there is no reference_trajectory")
        return self

    @model_validator(mode="after")
    def _sound(self) -> Self:
        sound(self.checks, "change" if self.expects == "change" else "no_change", self.pass_score)
        return self

    @property
    def refusal(self) -> bool:
        """True where the right answer is a refusal: by ``expects``, or by a category of that name."""
        return self.expects == "refusal" or self.category in REFUSALS


class Suite(Written):
    """Tasks under one name, versioned by the hash of their canonical form."""

    id: str = Field(min_length=1)
    destinations: dict[str, Destination] = Field(default={})
    shares: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(default={})
    """The part of all tasks that each category is to have."""

    tasks: tuple[Task, ...] = Field(strict=False)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for task in self.tasks:
            if task.id in seen:
                raise ValueError(f"two tasks are called {task.id!r}")
            seen.add(task.id)
            who = f"task {task.id!r}"
            own = frozenset({WORLD}) if task.start is None else task.start.destinations
            if task.start is not None and (taken := sorted(own & self.destinations.keys())):
                raise ValueError(f"{who} has a start state, whose world is called {taken[0]!r}: name yours otherwise")
            places_named(task.checks, own | self.destinations.keys(), who)
            if any(change.sql is not None for change in task.changes) and DATABASE not in own:
                raise ValueError(f"{who} changes a database by sql, and its start has no sqlite")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex: layout, key order and defaults that are spelled out do not matter."""
        whole = self.model_dump(mode="python", exclude_defaults=True)
        return digest(whole if self._code is None else {**whole, "code": self._code})

    _base: Path | None = PrivateAttr(default=None)
    _code: str | None = PrivateAttr(default=None)

    def set_origin(self, base: Path, code: str | None = None) -> None:
        """Say what paths are relative to, and the hash of the code that its functions stand in, if it has any."""
        self._base, self._code = base, code

    @property
    def base(self) -> Path | None:
        """What paths of destinations and Python files are relative to: the folder of the file, if it has one."""
        return self._base

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}

    def task(self, task_id: str | None) -> Task | None:
        """Return the task of that id, ``None`` where there is none."""
        return None if task_id is None else self._by_id.get(task_id)


OWN: Final = frozenset(Task.model_fields)
"""The keys of a task in a suite's own shape."""


def read_suite(path: Path) -> Suite:
    """Return the suite that a file holds, or the files of a folder: YAML, JSON or JSON lines, of any known format.

    Raises:
        SuiteError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    documents: list[JsonValue] = []
    for file, text in read_texts(path, SuiteError):
        if file.suffix in (".yaml", ".yml"):
            documents += yaml_values(text, str(file), SuiteError)
        elif file.suffix in (".jsonl", ".ndjson"):
            documents += lines_of(text, str(file))
        else:
            documents.append(_json(text, str(file)))
    base = path.absolute() if path.is_dir() else path.absolute().parent
    found = _suite(documents, name=str(path), suite_id=path.absolute().stem, base=base)
    found.set_origin(base)
    return found


def parse_suite(text: str, *, name: str) -> Suite:
    """Return the suite that a JSON text holds; ``name`` is what errors call it.

    Raises:
        SuiteError: the text is no JSON, or a key is unknown, missing or wrong.
    """
    return _suite([_json(text, name)], name=name, suite_id=Path(name).stem, base=None)


def _suite(documents: list[JsonValue], *, name: str, suite_id: str, base: Path | None) -> Suite:
    whole = as_suite(documents, name=name, suite_id=suite_id, base=base, own=OWN)
    return parse_document(Suite, json.dumps(whole), name, SuiteError)


def _json(text: str, name: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SuiteError(name, "", f"no JSON: {error}") from error
    return value
