"""Ways in which people write tasks, one file each, told apart by their keys and turned into a suite's own shape.

A task is of the format that knows most of its keys; where a suite's own knows as many, it is the suite's own.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.documents import parse_document
from spanproof_evaluators.model.suite_formats._format import Converted, Format, Item
from spanproof_evaluators.model.suite_formats.agent_fall import AGENT_FALL
from spanproof_evaluators.model.suite_formats.eval_case import EVAL_CASE
from spanproof_evaluators.model.suite_formats.golden import ENGLISH, POLISH
from spanproof_evaluators.model.suite_formats.repo_task import REPO_TASK

FORMATS: Final[Mapping[str, Format]] = {one.name: one for one in (POLISH, ENGLISH, AGENT_FALL, EVAL_CASE, REPO_TASK)}

DRAFT: Final = "fill_in"
"""The key of a task that nobody finished: what is left to be written, by name."""


def format_of(item: Item, own: Collection[str]) -> Format | None:
    """Return the format that a task is written in, ``None`` where it is a suite's own."""
    best, most = None, len(item.keys() & own)
    for one in FORMATS.values():
        known = len(item.keys() & one.keys)
        if known > most and one.fits(item):
            best, most = one, known
    return best


def as_suite(documents: list[Plain], *, name: str, suite_id: str, base: Path | None, own: Collection[str]) -> Plain:
    """Return what a file holds in the shape of a suite.

    Args:
        documents: what stands in the file: suites, tasks, lists of tasks.
        name: what errors call the file.
        suite_id: the suite's id where the file gives none.
        base: the folder of the file.
        own: the keys of a suite's own tasks.

    Raises:
        SuiteError: a task is of no known shape, or not finished.
    """
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, dict) and "tasks" not in only and len(only.keys() & own) < 2 and not format_of(only, own):
        return only  # no task: a suite with a misspelled key
    whole: dict[str, Plain] = {"id": suite_id}
    written: list[Plain] = []
    for document in documents:
        inner = document.get("tasks") if isinstance(document, dict) else None
        if isinstance(document, dict) and "tasks" in document:
            if len(documents) > 1:
                raise SuiteError(name, "tasks", "a suite stands beside other documents. Keep one suite in a file")
            if not isinstance(inner, list):
                return document
            whole = dict(document)
            written += inner
        elif isinstance(document, list):
            written += document
        else:
            written.append(document)
    tasks: list[Plain] = []
    places: dict[str, Plain] = {}
    for place, item in enumerate(written):
        if not isinstance(item, dict):
            tasks.append(item)
            continue
        _finished(item, name, place)
        found = format_of(item, own)
        if found is None:
            tasks.append(item)
            continue
        made = _converted(found, item, f"{name}: task {place + 1}", base)
        tasks.append(made.task)
        places |= made.destinations
    declared = whole.get("destinations")
    if places or declared is not None:
        whole["destinations"] = {**places, **(declared if isinstance(declared, dict) else {})}
    return whole | {"tasks": tasks}


def _finished(item: Item, name: str, place: int) -> None:
    """Refuse a task that a person still has to finish.

    Raises:
        SuiteError: it is one.
    """
    left = item.get(DRAFT)
    if left is None:
        return
    what = ", ".join(str(one) for one in left) if isinstance(left, list) else str(left)
    raise SuiteError(
        name,
        f"tasks.{place}.{DRAFT}",
        f"task {item.get('id')} is a draft. Write {what} and remove {DRAFT!r}; or take the task out",
    )


def _converted(found: Format, item: Item, name: str, base: Path | None) -> Converted:
    parsed = parse_document(found.model, json.dumps(item), name, SuiteError)
    try:
        return found.convert(parsed, base)
    except ValueError as error:
        raise SuiteError(name, "", str(error)) from error


def lines_of(text: str, name: str) -> Iterable[Plain]:
    """Yield the values of JSON lines.

    Raises:
        SuiteError: a line is no JSON.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                value: Plain = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SuiteError(name, f"line {number}", f"no JSON: {error}") from error
            yield value
