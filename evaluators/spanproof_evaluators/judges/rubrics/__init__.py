"""The rubrics that come with the product, one file each, and how any rubric is found by name or file."""

from importlib.resources import files
from pathlib import Path

from spanproof_evaluators.errors import RubricError
from spanproof_evaluators.model.documents import yaml_as_json
from spanproof_evaluators.model.rubrics import Rubric, parse_rubric, read_rubric


def shipped() -> dict[str, Rubric]:
    """Return the rubrics that come with the product, by id, in the order of their names."""
    found = {}
    for entry in sorted(files(__name__).iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".yaml"):
            text = yaml_as_json(entry.read_text(encoding="utf-8"), entry.name, RubricError)
            rubric = parse_rubric(text, name=entry.name)
            found[rubric.id] = rubric
    return found


def find_rubric(name: str) -> Rubric:
    """Return the rubric of a file, or the shipped one of that id.

    Raises:
        RubricError: the file cannot be read, or no shipped rubric is called so.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".json") or path.is_file():
        return read_rubric(path)
    known = shipped()
    if name not in known:
        raise RubricError(name, "", f"no rubric is called so. Shipped are {', '.join(known)}; or name a .yaml file")
    return known[name]
