"""One check, asked of a world that is there."""

from pathlib import Path

from spanproof_evaluators.model.checks import CheckSpec
from spanproof_evaluators.verifiers import Check, EndState, Place, checked


def folder(path: Path) -> EndState:
    """Return the state in which destination ``work`` is a folder."""
    return EndState(places={"work": Place(kind="folder", location=str(path))})


def ask(spec: CheckSpec, after: EndState, before: EndState | None = None, base: Path | None = None) -> Check:
    """Return the one check that a spec gives."""
    (found,) = checked(spec, before, after, base or Path("/nowhere"))
    return found


def said(found: Check) -> tuple[bool | None, str | None]:
    """Return what was found, in short."""
    return found.passed, found.reason
