"""Task definitions of tau2-bench: which task a simulation really was, where its own number is the submitter's.

A simulation records what it was checked against: the actions that its task asks for, and what the agent had to say. A
definition with the same is its task.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from spanproof_collector.importers._fields import ident, obj, objects, text
from spanproof_collector.importers._files import NotJsonError, parse
from spanproof_collector.model.values import Json

_FOLDER: Final = "tasks"
_LARGEST: Final = 64 * 1024 * 1024


class Defined(NamedTuple):
    """What a definition says."""

    task_id: str
    domain: str | None
    actions: tuple[str, ...]
    assertions: tuple[str, ...]


def definition(value: Json) -> Defined | None:
    """Return what a task's definition says, ``None`` where it is none."""
    task = obj(value)
    criteria, task_id = obj(task.get("evaluation_criteria")), ident(task.get("id"))
    if not criteria or task_id is None:
        return None
    told = obj(obj(task.get("user_scenario")).get("instructions"))
    said = criteria.get("nl_assertions")
    return Defined(
        task_id=task_id,
        domain=text(told.get("domain")),
        actions=tuple(map(_spelled, objects(criteria.get("actions")))),
        assertions=tuple(each for each in said if isinstance(each, str)) if isinstance(said, list) else (),
    )


def definitions_in(folder: Path) -> tuple[Defined, ...]:
    """Return the definitions under the folders ``tasks`` of a folder: one a file, or an array of them."""
    found: list[Defined] = []
    for file in sorted(folder.rglob(f"{_FOLDER}/**/*.json")):
        try:
            if file.stat().st_size > _LARGEST:
                continue
            value = parse(file.read_bytes())
        except (OSError, NotJsonError):
            continue
        found += filter(None, map(definition, value if isinstance(value, list) else [value]))
    return tuple(found)


def task_of(recorded: str | None, checked: dict[str, Json], known: Iterable[Defined]) -> tuple[str | None, str | None]:
    """Return the id of a simulation's task, and its domain: the recorded id unless the checks are another task's.

    Args:
        recorded: the id in the simulation.
        checked: what it was checked against, its ``reward_info``.
        known: the definitions.
    """
    actions = tuple(_spelled(obj(each.get("action"))) for each in objects(checked.get("action_checks")))
    said = [text(each.get("nl_assertion")) for each in objects(checked.get("nl_assertions"))]
    if not actions and not said:
        return recorded, None
    fitting = [each for each in known if each.actions == actions and (not said or list(each.assertions) == said)]
    own = [each for each in fitting if each.task_id == recorded]
    chosen = own or fitting
    ids, domains = {each.task_id for each in chosen}, {each.domain for each in chosen}
    domain = domains.pop() if len(domains) == 1 else None
    return (ids.pop(), domain) if len(ids) == 1 else (recorded, None)


def _spelled(action: dict[str, Json]) -> str:
    return json.dumps([action.get("requestor"), action.get("name"), action.get("arguments")], sort_keys=True)
