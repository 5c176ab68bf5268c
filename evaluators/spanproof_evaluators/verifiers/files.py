"""Files: how many fit a pattern and are as they should be, or that nothing but some of them changed.

A link is no file: where a file is asked for it is missing, and where none may be it is one. What cannot be read, or is
too large to be, counts for neither side.
"""

import hashlib
import json
import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from spanproof_evaluators.model.canonical import canonical, deeper_than
from spanproof_evaluators.model.checks import FilesCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._globs import matches
from spanproof_evaluators.verifiers._kind import GapError, gap
from spanproof_evaluators.verifiers._show import shown
from spanproof_evaluators.verifiers._tree import Files, files_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MOST_LEVELS = 200


def check_files(spec: FilesCheck, before: EndState | None, after: EndState) -> list[Check]:
    """Look at the files of the state after; for ``changed_within`` also at those of the state before."""
    name = _name(spec)
    live = None if spec.destination is None else time.time_ns()
    try:
        if spec.glob is None:
            found = _changed(spec, name, before, after)
        else:
            found = _counted(spec, spec.glob, name, files_of(after, spec.destination))
    except GapError as error:
        found = gap(name, error)
    return [replace(found, destination=spec.destination, time=live)]


def _name(spec: FilesCheck) -> str:
    if spec.glob is None:
        within = shown(list(spec.changed_within or ()))
        return f"no file changed outside {within}" if spec.changed_within else "no file changed"
    name = f"{spec.described} file(s) {spec.glob}"
    if spec.contains:
        name += f" containing {shown(list(spec.contains))}"
    if spec.not_contains:
        name += f" not containing {shown(list(spec.not_contains))}"
    if spec.equals is not None:
        name += f" equal to {shown(spec.equals)}"
    if spec.json_schema is not None:
        name += " that fulfil the schema"
    if spec.sha256 is not None:
        name += f" with SHA-256 {spec.sha256[:12]}…"
    if spec.min_bytes is not None:
        name += f" of at least {spec.min_bytes:,} bytes"
    if spec.max_bytes is not None:
        name += f" of at most {spec.max_bytes:,} bytes"
    return name


def _counted(spec: FilesCheck, glob: str, name: str, files: Files) -> Check:
    fitting = sorted(path for path in files.sizes if matches(path, glob))
    links = sorted(path for path in files.links if matches(path, glob))
    holding: list[str] = []
    wrong: dict[str, str] = {}
    unread: dict[str, GapError] = {}
    for path in fitting:
        try:
            why = _why_not(spec, files, path)
        except GapError as error:
            unread[path] = error
            continue
        if why is None:
            holding.append(path)
        else:
            wrong[path] = why
    _, high = spec.expected
    passed = spec.judged(len(holding), len(unread))
    if links and high is not None and len(holding) + len(links) > high:
        passed = False
    seen = f"{len(holding)} of {len(fitting)} fitting files" if spec.conditions else f"{len(holding)} files"
    if holding:
        seen += f": {shown(list(holding))}"
    elif wrong:
        seen += f"; {shown([f'{path}: {why}' for path, why in wrong.items()])}"
    if links:
        seen += f"; links, which are no files: {shown(links)}"
    if unread:
        first = next(iter(unread.values()))
        seen += f"; not read: {first.seen}"
        if passed is None:
            return Check(name=name, passed=None, reason=first.reason, seen=seen)
    return Check(name=name, passed=passed, seen=seen)


def _why_not(spec: FilesCheck, files: Files, path: str) -> str | None:
    """Return why a file is not as it should be, ``None`` where it is.

    Raises:
        GapError: it cannot be read, or the schema is none.
    """
    size = files.sizes[path]
    if spec.min_bytes is not None and size < spec.min_bytes:
        return f"{size:,} bytes"
    if spec.max_bytes is not None and size > spec.max_bytes:
        return f"{size:,} bytes"
    if not (spec.contains or spec.not_contains or spec.equals is not None or spec.json_schema or spec.sha256):
        return None
    content = files.content(path)
    if spec.sha256 is not None and (found := hashlib.sha256(content).hexdigest()) != spec.sha256:
        return f"SHA-256 is {found}"
    for text in spec.contains:
        if text.encode("utf-8", "surrogatepass") not in content:
            return f"lacks {shown(text)}"
    for text in spec.not_contains:
        if text.encode("utf-8", "surrogatepass") in content:
            return f"holds {shown(text)}"
    if spec.equals is not None and content != spec.equals.encode("utf-8", "surrogatepass"):
        return f"is {shown(content.decode('utf-8', 'replace'))}"
    return None if spec.json_schema is None else _against(canonical(spec.json_schema), content)


@cache
def _validator(schema: str) -> "Validator":
    """Return the validator of a schema; references to other documents are not followed.

    Raises:
        GapError: it is no schema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY

    written = json.loads(schema)
    kind = validator_for(written, default=Draft202012Validator)
    try:
        kind.check_schema(written)
    except SchemaError as error:
        raise GapError("schema_invalid", error.message) from error
    return kind(written, registry=REGISTRY)


def _against(schema: str, content: bytes) -> str | None:
    """Return what a file's JSON has against a schema, ``None`` where it fulfils it."""
    from referencing.exceptions import Unresolvable

    validator = _validator(schema)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    if deeper_than(value, _MOST_LEVELS):
        return f"nests deeper than {_MOST_LEVELS} levels"
    try:
        wrong = next(iter(validator.iter_errors(value)), None)
    except (Unresolvable, RecursionError) as error:
        raise GapError("schema_invalid", f"{type(error).__name__}: {error}") from error
    return None if wrong is None else f"{wrong.json_path}: {wrong.message[:200]}"


def _changed(spec: FilesCheck, name: str, before: EndState | None, after: EndState) -> Check:
    """Compare every file that fits no pattern."""
    if before is None:
        raise GapError("pre_state_not_recorded", "nobody recorded the state before")
    try:
        old = files_of(before, spec.destination)
    except GapError as error:
        reason = "pre_state_not_recorded" if error.reason == "destination_not_given" else error.reason
        raise GapError(reason, f"before: {error.seen}") from error
    new = files_of(after, spec.destination)
    within = spec.changed_within or ()
    paths = sorted(old.sizes.keys() | old.links.keys() | new.sizes.keys() | new.links.keys())
    outside = [path for path in paths if not any(matches(path, glob) for glob in within)]
    changed: list[str] = []
    unread: list[GapError] = []
    for path in outside:
        if old.sizes.get(path) != new.sizes.get(path) or old.links.get(path) != new.links.get(path):
            changed.append(path)
            continue
        try:
            if old.fingerprint(path) != new.fingerprint(path):
                changed.append(path)
        except GapError as error:
            unread.append(error)
    if changed:
        return Check(name=name, passed=False, seen=f"{len(changed)} changed: {shown(changed)}")
    if unread:
        raise unread[0]
    return Check(name=name, passed=True, seen=f"{len(outside)} files, all the same")
