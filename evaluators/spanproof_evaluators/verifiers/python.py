"""A predicate of one's own: a Python function in a process of its own.

False and an AssertionError of the function say no. Any other error, an exit, a crash, a timeout, too much output or a
result of another shape say that it could not judge.
"""

import hashlib
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from spanproof_evaluators.model.canonical import Plain, canonical, plain
from spanproof_evaluators.model.checks import PythonCheck
from spanproof_evaluators.model.destinations import REFERENCE
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._kind import GapError, gap, place, tail
from spanproof_evaluators.verifiers._process import clean_environment, run
from spanproof_evaluators.verifiers._secrets import MissingVariableError, Secrets

_START: Final = (
    "import json, runpy, sys; sys.path[:0] = json.loads(sys.argv[1]); "
    "runpy.run_path(sys.argv[2])['main'](*sys.argv[3:])"
)
_CHILD: Final = Path(__file__).with_name("_child.py")
"""Run by its path: what the other kinds of checks need is not loaded there."""


def check_python(spec: PythonCheck, before: EndState | None, after: EndState, base: Path) -> list[Check]:
    """Call the function with both states; ``base`` is what its path is relative to."""
    name = f"{spec.function} says so"
    secrets = Secrets()
    where = ", ".join(spec.uses) or None
    started = time.time_ns()
    file = _file(spec, base)
    definition = hashlib.sha256(f"{spec.definition} {_code(spec, file, base)}".encode()).hexdigest()
    try:
        found = checks_told(_said(spec, before, after, base, file, secrets), name)
    except GapError as error:
        found = [gap(name, error, secrets, where)]
    except MissingVariableError as error:
        found = [gap(name, GapError("variable_not_set", str(error)), secrets, where)]
    return [
        replace(
            check,
            name=secrets.masked(check.name),
            seen=secrets.masked(check.seen),
            destination=where,
            time=started,
            definition=definition,
        )
        for check in found
    ]


def _said(
    spec: PythonCheck, before: EndState | None, after: EndState, base: Path, file: Path | None, secrets: Secrets
) -> dict[str, Plain]:
    """Return what the child wrote down."""
    if not spec.uses:
        something_to_judge(before, after, given=bool(spec.arguments))
    for destination in spec.uses:
        if spec.given == "folder":
            place(after, destination, "folder", "git")
        else:
            place(after, destination, "folder", "sql", "http", "git")
    with tempfile.TemporaryDirectory(prefix="spanproof-verifier-") as temporary:
        home = Path(temporary)
        payload, result = home / "payload.json", home / "result.json"
        payload.write_text(
            canonical(
                {
                    "function": spec.function,
                    "file": None if file is None else str(file),
                    "arguments": spec.arguments,
                    "folder": spec.uses[0] if spec.given == "folder" else None,
                    "before": _state(spec, before),
                    "after": _state(spec, after),
                }
            ),
            encoding="ascii",
        )
        env = clean_environment(home)
        for state in (before, after):
            for destination in spec.uses:
                found = state.places.get(destination) if state is not None else None
                for text in (found.location, *found.headers.values()) if found else ():
                    secrets.filled(text)
                    env |= {name: secrets.filled(f"${{{name}}}") for name in REFERENCE.findall(text)}
        env |= {key: secrets.filled(value) for key, value in spec.env.items()}
        path = [str(file.parent if file else base), *(one for one in sys.path if one)]
        argv = [sys.executable, "-I", "-c", _START, json.dumps(path), str(_CHILD), str(payload), str(result)]
        ran = run(argv, folder=home, env=env, timeout=spec.timeout, max_output=spec.max_output)
        if not result.is_file():
            how = f"killed by signal {-ran.code}" if ran.code < 0 else f"ended with {ran.code} and no result"
            raise GapError("python_crashed", f"{how}\n{tail(ran.said)}".strip())
        try:
            told = json.loads(result.read_bytes()[: spec.max_output + 1])
        except (ValueError, RecursionError) as error:
            raise GapError("output_limit", f"the result has more than {spec.max_output:,} bytes") from error
    return told if isinstance(told, dict) else {}


def something_to_judge(before: EndState | None, after: EndState, *, given: bool = False) -> None:
    """Refuse to ask a function about nothing: it would say something all the same.

    Args:
        before: the state before; the same object as ``after`` where the state before is asked for.
        after: the state that is judged.
        given: whether arguments say what is to be judged.

    Raises:
        GapError: nothing was recorded and nothing says where to look; or the state before is asked for, and only the
            world of now could be looked at.
    """
    if after.tables is not None or after.files is not None:
        return
    if before is after:
        raise GapError(after.missing or "pre_state_not_recorded", "nobody recorded the state before")
    if not given and not (after.answer_recorded and after.answer is not None):
        raise GapError(after.missing or "end_state_not_recorded", "nobody recorded anything that could be judged")


def _state(spec: PythonCheck, state: EndState | None) -> Plain:
    """Return a state as it is handed over, with no place but those that are used."""
    if state is None:
        return None
    return plain(replace(state, places={name: one for name, one in state.places.items() if name in spec.uses}))


def checks_told(told: Mapping[str, object], name: str) -> list[Check]:
    """Return the checks that the words of a function are.

    Raises:
        GapError: they are no verdict.
    """
    if "gap" in told:
        raise GapError(str(told["gap"]), tail(str(told.get("seen", ""))))
    if "failed" in told:
        return [Check(name=name, passed=False, seen=tail(str(told["failed"])))]
    verdict = told.get("verdict")
    if isinstance(verdict, bool):
        return [Check(name=name, passed=verdict, seen=f"the function returned {verdict}")]
    entries = verdict if isinstance(verdict, list) else [verdict]
    if not entries:
        raise GapError("unexpected_result", "an empty list of checks")
    return [_check(entry, name) for entry in entries if isinstance(entry, dict)]


def _check(entry: Mapping[str, object], name: str) -> Check:
    passed, score = entry.get("passed"), entry.get("score")
    seen = entry.get("seen") or entry.get("details") or ""
    reason = entry.get("reason")
    return Check(
        name=str(entry.get("name") or name),
        passed=passed if isinstance(passed, bool) else None,
        score=float(score) if isinstance(score, int | float) else None,
        seen=tail(str(seen)),
        reason=str(reason or "check_could_not_run") if passed is None else None,
    )


def _file(spec: PythonCheck, base: Path) -> Path | None:
    """Return the file that the function stands in, ``None`` where a module is named."""
    where = spec.function.rpartition(":")[0]
    return base / where if where.endswith(".py") else None


def _code(spec: PythonCheck, file: Path | None, base: Path) -> str:
    """Return the hash of the file that the function stands in, empty where it cannot be found without running it."""
    if file is None:
        module = spec.function.rpartition(":")[0]
        file = base / (module.replace(".", "/") + ".py")
        if not file.is_file():
            if "." in module:
                return ""
            found = importlib.util.find_spec(module)
            if found is None or found.origin is None or not Path(found.origin).is_file():
                return ""
            file = Path(found.origin)
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
