"""Regular expressions mean the same to every Python that is supported."""

import ast
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
REPEATED_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
CLASS = re.compile(r"\[(?:\\.|[^\]\\])+\]", re.DOTALL)
RIGHT = r"(?:\\.x*+)*+"
"""Nothing in it backtracks, so that Python before 3.11.5 takes it rightly, too; ``x`` for any class."""


def doubtful(source: str) -> list[str]:
    """Return the texts in a module that repeat a group possessively."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    spelled = [text.decode("latin-1") if isinstance(text, bytes) else text for text in texts]
    patterns = [CLASS.sub("x", text) for text in spelled if isinstance(text, str)]
    return [pattern for pattern in patterns if REPEATED_GROUP.search(pattern.replace(RIGHT, ""))]


@pytest.mark.parametrize("package", ["instrumentation", "collector", "evaluators"])
def test_no_group_is_repeated_possessively(package: str) -> None:
    modules = sorted((TOP / package).rglob("*.py"))
    assert modules
    assert {str(module.relative_to(TOP)): found for module in modules if (found := doubtful(module.read_text()))} == {}


def test_a_group_that_is_repeated_possessively_is_found() -> None:
    assert len(doubtful(r"""a, b = re.compile(rb'"(?:[^"\\]++|\\.)*+"'), r"(?:ab|c){2,3}+" """)) == 2
    assert doubtful(r"""re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')""") == []
