"""The tree in each part's errors.py names every kind of error that the part raises on purpose, under its parent."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = [ROOT / part / f"spanproof_{part}" for part in ("instrumentation", "collector", "evaluators")]
_BRANCH = re.compile(r"^(?P<before>[│ ]*)[├└]── (?P<name>\w+)(?: |$)", re.MULTILINE)


def _told(part: Path) -> dict[str, str]:
    tree = ast.get_docstring(ast.parse((part / "errors.py").read_text())) or ""
    parents = ["SpanproofError"]
    found = {}
    for branch in _BRANCH.finditer(tree):
        depth = len(branch["before"]) // 4 + 1
        found[branch["name"]] = parents[depth - 1]
        parents[depth:] = [branch["name"]]
    return found


def _defined(part: Path) -> dict[str, str]:
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for file in part.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    known = {"SpanproofError"}
    found: dict[str, str] = {}
    while True:
        more = {
            name: base for name, bases_of in bases.items() for base in bases_of if base in known and name not in found
        }
        if not more:
            return found
        found |= more
        known |= more.keys()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_tree_of_errors_names_each_under_its_parent(part: Path) -> None:
    defined = _defined(part)
    assert defined
    assert _told(part) == defined
