"""Files of results that people have, one file a format, told apart by their keys."""

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import ResultFileError
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.documents import read_texts, yaml_values
from spanproof_evaluators.model.result_files._format import Item, ResultFile, ResultFormat
from spanproof_evaluators.model.result_files.eval_report import EVAL_REPORT, EVAL_RESULT
from spanproof_evaluators.model.result_files.journals import is_journal, read_journal
from spanproof_evaluators.model.result_files.rows import REPORT, ROWS
from spanproof_evaluators.model.result_files.runs import RUNS
from spanproof_evaluators.model.result_files.summaries import SUMMARY
from spanproof_evaluators.model.result_files.trajectories import EVENTS, TRAJECTORIES

FORMATS: Final[Mapping[str, ResultFormat]] = {
    one.name: one for one in (ROWS, REPORT, RUNS, EVAL_REPORT, EVAL_RESULT, TRAJECTORIES, EVENTS, SUMMARY)
}


def read_results(path: Path) -> ResultFile:
    """Return what a file of results says: JSON, JSON lines, YAML, or a Markdown table.

    Raises:
        ResultFileError: it cannot be read, is of no known format, or a key is unknown, missing or wrong.
    """
    if path.is_dir():
        raise ResultFileError(str(path), "", "is a folder. Name one file of results")
    ((_, text),) = read_texts(path, ResultFileError)
    try:
        if is_journal(text):
            return read_journal(text)
        return of_items(_items(path, text), str(path))
    except ValueError as error:
        raise ResultFileError(str(path), "", str(error)) from error


def of_items(items: Sequence[Plain], name: str) -> ResultFile:
    """Return what the objects of a file say; ``name`` is what errors call it.

    Raises:
        ResultFileError: they are of no known format, or a key is unknown or missing.
        ValueError: a value is wrong.
    """
    objects: list[Item] = []
    for place, one in enumerate(items):
        if not isinstance(one, dict):
            raise ResultFileError(name, str(place), "is no object")
        objects.append(one)
    if not objects:
        raise ResultFileError(name, "", "holds nothing")
    found = max(FORMATS.values(), key=lambda one: sum(len(item.keys() & one.keys) for item in objects))
    if not objects[0].keys() & found.required:
        known = "; ".join(f"{one.name}: {', '.join(sorted(one.required))}" for one in FORMATS.values())
        raise ResultFileError(name, "", f"no known file of results. Known, by their keys: {known}")
    for place, item in enumerate(objects):
        for key in item.keys() - found.keys:
            near = difflib.get_close_matches(key, found.keys, n=1)
            meant = f"Did you mean {near[0]!r}?" if near else f"A file of the format {found.name} has none of that name"
            raise ResultFileError(name, f"{place}.{key}", f"unknown key. {meant}")
        for key in sorted(found.required - item.keys()):
            raise ResultFileError(name, f"{place}.{key}", "missing")
    return found.read(objects)


def _items(path: Path, text: str) -> list[Plain]:
    if path.suffix in (".yaml", ".yml"):
        documents: list[Plain] = list(yaml_values(text, str(path), ResultFileError))
    else:
        try:
            documents = [json.loads(text)]
        except ValueError:
            documents = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [item for document in documents for item in (document if isinstance(document, list) else [document])]


__all__ = ["FORMATS", "ResultFile", "of_items", "read_results"]
