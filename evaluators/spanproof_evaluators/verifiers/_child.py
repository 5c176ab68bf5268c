"""The other side of a Python predicate: a process that loads one function, calls it, and writes down what came of it.

``main(payload, result)`` is given two paths. What is written is ``{"verdict": ...}``, ``{"failed": text}``
for an AssertionError of the function, or ``{"gap": reason, "seen": text}``.
"""

import importlib
import importlib.util
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from pathlib import Path

from spanproof_evaluators.model.end_states import EndState, Place

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def main(payload: str, result: str) -> None:
    """Call the function that the payload names, and write down what came of it."""
    asked = json.loads(Path(payload).read_text(encoding="utf-8"))
    said: dict[str, object]
    try:
        function = _function(asked["function"], asked["file"])
    except BaseException as error:  # the import runs anybody's code, and no error of it is a verdict
        said = {"gap": "python_not_loaded", "seen": _told(error)}
    else:
        given = asked["arguments"]
        arguments = given if isinstance(given, dict) else {}
        after = _state(asked["after"])
        if asked["folder"] is not None and after is not None:
            workspace = after.places[asked["folder"]].location
            said = called(lambda before, after, **more: function(workspace, **more), None, None, arguments)
        else:
            said = called(function, _state(asked["before"]), after, arguments)
    Path(result).write_text(json.dumps(said), encoding="utf-8")


def called(
    function: Callable[..., object], before: EndState | None, after: EndState | None, arguments: Mapping[str, object]
) -> dict[str, object]:
    """Return what came of a call, as it is written down."""
    try:
        returned = function(before, after, **arguments)
    except AssertionError as error:
        return {"failed": str(error) or _told(error)}
    except BaseException as error:  # whatever else it raises, SystemExit too, says that it could not judge
        return {"gap": "python_raised", "seen": _told(error)}
    try:
        return {"verdict": _plain(returned)}
    except TypeError as error:
        return {"gap": "unexpected_result", "seen": str(error)}


def _function(name: str, file: str | None) -> Callable[..., object]:
    """Return the function of a module or of a file."""
    where, _, path = name.rpartition(":")
    if file is None:
        found: object = importlib.import_module(where)
    else:
        spec = importlib.util.spec_from_file_location("spanproof_verifier", file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules["spanproof_verifier"] = module
        spec.loader.exec_module(module)
        found = module
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found


def _state(told: object) -> EndState | None:
    """Return a state with its places' references filled in."""
    if not isinstance(told, dict):
        return None
    tables = told["tables"]
    return EndState(
        tables=None if tables is None else {name: tuple(rows) for name, rows in tables.items()},
        files=told["files"],
        answer=told["answer"],
        answer_recorded=told["answer_recorded"],
        places={
            name: Place(
                kind=place["kind"],
                location=_filled(place["location"]),
                headers={key: _filled(value) for key, value in place["headers"].items()},
                problem=place["problem"],
            )
            for name, place in told["places"].items()
        },
        missing=told["missing"],
        time=told["time"],
    )


def _filled(text: str) -> str:
    return _REFERENCE.sub(lambda found: os.environ[found[1]], text)


def _plain(value: object) -> object:
    """Return what a function may return as JSON: a bool, a result, a list of checks.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return [_entry(item) for item in value]
    return _entry(value)


def _entry(value: object) -> dict[str, object]:
    """Return a result or a check by its fields."""
    get: Callable[[str], object]
    if isinstance(value, Mapping):
        get = value.get
        known = "passed" in value
    else:
        known = hasattr(value, "passed") and (is_dataclass(value) or not isinstance(value, type))

        def get(key: str) -> object:
            return getattr(value, key, None)

    if not known:
        raise TypeError(
            f"a bool, a result with passed, or a list of checks was expected, and no {type(value).__name__}"
        )
    passed, score = get("passed"), get("score")
    if passed is not None and not isinstance(passed, bool):
        raise TypeError(f"passed is a {type(passed).__name__}, and no bool")
    if score is not None:
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise TypeError(f"score is a {type(score).__name__}, and no number")
        if not math.isfinite(score) or not 0 <= score <= 1:
            raise TypeError(f"score is {score}, and not between 0 and 1")
    texts = {key: get(key) for key in ("name", "details", "seen", "reason")}
    return {
        "passed": passed,
        "score": score,
        **{key: None if text is None else str(text) for key, text in texts.items()},
    }


def _told(error: BaseException) -> str:
    """Return an error in one line, and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
