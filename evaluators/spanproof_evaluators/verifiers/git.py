"""What changed in a git repository: committed, uncommitted and untracked work against the commit it began at."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from spanproof_evaluators.model.checks import GitCheck
from spanproof_evaluators.model.checks.git import TESTS
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._globs import matches
from spanproof_evaluators.verifiers._kind import GapError, gap, place
from spanproof_evaluators.verifiers._repository import Change, Repository, repository
from spanproof_evaluators.verifiers._show import shown

_ASKED: Final = re.compile(r"at most (\d+) files changed since .*")
_SEEN: Final = re.compile(r"(\d+) files: ")


def check_git(spec: GitCheck, after: EndState) -> list[Check]:
    """Look at the repository as it is after, one check for each limit."""
    started = time.time_ns()
    try:
        root = Path(place(after, spec.destination, "git", "folder").location)
        with repository(root, spec.timeout) as seen:
            found = list(_checks(spec, seen))
    except GapError as error:
        found = [gap(f"git {spec.destination}", error)]
    return [replace(check, destination=spec.destination, time=started) for check in found]


def _checks(spec: GitCheck, seen: Repository) -> Iterator[Check]:
    if spec.head is not None:
        yield Check(name=f"HEAD is {spec.head[:12]}", passed=seen.head == spec.head, seen=seen.head or "no commit yet")
    if spec.branch is not None:
        told = seen.branch or "no branch is checked out"
        yield Check(name=f"branch is {spec.branch}", passed=seen.branch == spec.branch, seen=told)
    if spec.clean is not None:
        yield _clean(spec.clean, seen)
    if spec.compares and spec.base is not None:
        base = seen.commit(spec.base)
        yield from _limits(spec, f"since {base[:12]}", seen.changes(base))


def _clean(wanted: bool, seen: Repository) -> Check:
    if seen.head is None:
        raise GapError("commit_missing", "there is no commit yet")
    changes = seen.changes(seen.head)
    name = "nothing is uncommitted or untracked" if wanted else "something is uncommitted or untracked"
    return Check(name=name, passed=(not changes) is wanted, seen=_listed([change.path for change in changes]))


def _limits(spec: GitCheck, since: str, changes: Sequence[Change]) -> Iterator[Check]:
    paths = [path for change in changes for path in change.paths]
    binary = [change.path for change in changes if change.added is None]
    if spec.max_changed_files is not None:
        yield Check(
            name=f"at most {spec.max_changed_files} files changed {since}",
            passed=len(changes) <= spec.max_changed_files,
            seen=_listed([change.path for change in changes]),
        )
    if spec.max_changed_lines is not None:
        yield _lines(spec, spec.max_changed_lines, since, changes, binary)
    if spec.max_binary_files is not None:
        yield Check(
            name=f"at most {spec.max_binary_files} binary files changed {since}",
            passed=len(binary) <= spec.max_binary_files,
            seen=_listed(binary),
        )
    if spec.allowed is not None:
        outside = [path for path in paths if not _any(path, spec.allowed)]
        yield Check(
            name=f"only {shown(list(spec.allowed))} changed {since}",
            passed=not outside,
            seen=f"outside: {_listed(outside)}",
        )
    if spec.forbidden:
        touched = [path for path in paths if _any(path, spec.forbidden)]
        yield Check(
            name=f"{shown(list(spec.forbidden))} not changed {since}", passed=not touched, seen=_listed(touched)
        )
    if tests := TESTS if spec.tests_untouched is True else spec.tests_untouched or ():
        touched = [path for path in paths if _any(path, tests)]
        yield Check(name=f"tests untouched {since}", passed=not touched, seen=_listed(touched))
    for pattern in spec.changed:
        fitting = [path for path in paths if matches(path, pattern)]
        yield Check(name=f"{pattern} changed {since}", passed=bool(fitting), seen=_listed(fitting))


def _lines(spec: GitCheck, most: int, since: str, changes: Sequence[Change], binary: Sequence[str]) -> Check:
    """Return the check of the lines. Binary files have none: without a limit of their own, nobody knows their size."""
    count = sum(change.lines for change in changes)
    name = f"at most {most} lines of text changed {since}"
    seen = f"{count} lines in {len(changes)} files"
    if count > most:
        return Check(name=name, passed=False, seen=seen)
    if binary and spec.max_binary_files is None:
        return gap(name, GapError("binary_changed", f"{seen}; binary: {_listed(binary)}: give max_binary_files too"))
    return Check(name=name, passed=True, seen=seen)


def changed_files(check: Check) -> tuple[int, int] | None:
    """Return how many files a check of ``max_changed_files`` saw changed, and its limit; ``None`` for another one."""
    asked = _ASKED.fullmatch(check.name)
    if check.kind != "git" or asked is None or check.passed is None:
        return None
    seen = _SEEN.match(check.seen)
    return (int(seen.group(1)) if seen else 0), int(asked.group(1))


def _any(path: str, patterns: Sequence[str]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def _listed(paths: Sequence[str]) -> str:
    return f"{len(paths)} files: {shown(sorted(paths))}" if paths else "none"
