"""Checks that a table of requirements names tests that there are."""

import ast
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parent.parent


def missing(table: Mapping[str, str], module: str) -> list[str]:
    """Return the rows whose test is not there. One of another file is named with it: ``folder/test_x.py::test_y``."""
    absent = []
    for row, named in table.items():
        for test in named.split():
            file, _, name = test.rpartition("::")
            path = TESTS / file if file else Path(module)
            if not path.is_file() or name not in _tests_of(path):
                absent.append(f"{row}: {test}")
    return absent


def _tests_of(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
