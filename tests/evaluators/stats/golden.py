"""Golden cases: exact inputs and expected outputs, each with its source in the file."""

import json
from functools import cache
from typing import Any

from tests.shared import GOLDEN


@cache
def golden(name: str) -> dict[str, Any]:
    """Return a golden case by the beginning of its name: ``G04``."""
    (path,) = GOLDEN.glob(f"{name}_*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
