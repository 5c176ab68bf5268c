"""The external effects that a task asks for, and when two of them are one: by tool and arguments, compared exactly."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from spanproof_collector.model.trials import Trial
from spanproof_collector.trials import infer_class
from spanproof_evaluators.model.canonical import Plain, canonical
from spanproof_evaluators.model.suites import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedEffect:
    """One change that the task asks for."""

    tool: str
    arguments: Plain
    compare: tuple[str, ...] | None = None
    """The arguments that are compared; ``None``: all. ``()``: the tool alone counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a task asks for, and who says so."""

    effects: tuple[ExpectedEffect, ...]
    by: str
    unclassified: tuple[str, ...] = ()
    """Tools that the definition names and of which nobody knows whether they change anything."""


def expected_effects(trial: Trial, task: Task | None) -> Expected | None:
    """Return the effects that are expected; ``None`` where nobody says.

    The suite's task comes first; else the gold actions of the task's definition, as an importer found it: those of
    tools that change something. User's own actions are no effects of the agent.
    """
    if task is not None and task.expected_effects is not None:
        told = tuple(
            ExpectedEffect(tool=one.tool, arguments=one.arguments, compare=one.compare) for one in task.expected_effects
        )
        return Expected(effects=told, by="suite")
    if task is not None and task.effects == "none":
        return Expected(effects=(), by="suite")
    gold = _gold_actions(trial.task_definition)
    if gold is None:
        return None
    known = {call.name: call.effect.effect_class for call in (*trial.user_calls, *trial.tool_calls)}
    effects: list[ExpectedEffect] = []
    unclassified: list[str] = []
    for action in gold:
        kind = known.get(action.tool, "unclassified")
        if kind == "unclassified":
            kind = infer_class(action.tool, action.arguments)
        if kind in ("write", "destructive"):
            effects.append(action)
        elif kind == "unclassified":
            unclassified.append(action.tool)
    return Expected(effects=tuple(effects), by="task definition", unclassified=tuple(dict.fromkeys(unclassified)))


def _gold_actions(definition: Plain) -> list[ExpectedEffect] | None:
    """Return the actions of a definition: of tau2 under ``evaluation_criteria``, of tau-bench at the top."""
    if not isinstance(definition, dict):
        return None
    criteria = definition.get("evaluation_criteria")
    actions = (criteria if isinstance(criteria, dict) else definition).get("actions")
    if not isinstance(actions, list):
        return None
    found: list[ExpectedEffect] = []
    for action in actions:
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            return None
        if action.get("requestor", "assistant") != "assistant":
            continue
        compare = action.get("compare_args")
        names = tuple(str(name) for name in compare) if isinstance(compare, list) else None
        arguments = action.get("arguments", action.get("kwargs"))
        found.append(ExpectedEffect(tool=str(action["name"]), arguments=arguments, compare=names))
    return found


def identity(tool: str, arguments: Plain) -> str:
    """Return one text for one call: keys sorted, numbers by their value (1 is 1.0, and not ``"1"`` nor true)."""
    return canonical([tool, by_value(arguments)])


def without_key(arguments: Plain, key: str | None) -> Plain:
    """Return arguments without the idempotency key: what holds it, or is called so. It tells attempts, not changes."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if not _is_key(name, value, key)}


def _is_key(name: str, value: Plain, key: str | None) -> bool:
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return plain == "idempotencykey" or (key is not None and "key" in plain and str(value) == key)


def narrowed(arguments: Plain, compare: tuple[str, ...] | None) -> Plain:
    """Return the arguments that are compared. One that is not there is none of them."""
    if compare is None or not isinstance(arguments, dict):
        return {} if compare is not None and not compare else arguments
    return {name: value for name, value in arguments.items() if name in compare}


def differing(expected: Plain, actual: Plain) -> tuple[str, ...]:
    """Return the names of the arguments that differ, sorted; ``()`` where none does."""
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return () if canonical(by_value(expected)) == canonical(by_value(actual)) else ("",)
    ours, theirs = _texts(expected), _texts(actual)
    return tuple(sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)))


def _texts(arguments: Mapping[str, Plain]) -> dict[str, str]:
    return {name: canonical(by_value(value)) for name, value in arguments.items()}


def by_value(value: Plain) -> Plain:
    """Return a value in which every leaf is tagged by its kind and equal numbers are one text, at any depth."""
    lists: list[tuple[list[Plain], Iterable[Plain]]] = []
    dicts: list[tuple[dict[str, Plain], Iterable[tuple[str, Plain]]]] = []

    def shallow(item: Plain) -> Plain:
        match item:
            case None | bool():
                return item
            case str():
                return f"s{item}"
            case int() | float():
                return f"n{_number(item)}"
            case list():
                array: list[Plain] = []
                lists.append((array, item))
                return array
        made: dict[str, Plain] = {}
        dicts.append((made, item.items()))
        return made

    found = shallow(value)
    while lists or dicts:
        if lists:
            array, items = lists.pop()
            array.extend(shallow(item) for item in items)
        else:
            made, pairs = dicts.pop()
            made.update((key, shallow(item)) for key, item in pairs)
    return found


def _number(number: float) -> str:
    if isinstance(number, float) and not isfinite(number):
        return repr(number)
    exact = Fraction(number) if isinstance(number, int) else Fraction(Decimal(repr(number)))
    # hexadecimal: decimal digits have a limit
    return f"{exact.numerator:x}/{exact.denominator:x}"
