"""Worlds: the start state of a task, made once and copied for each attempt."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.starts import GitStart, Start
from spanproof_evaluators.model.suites import Suite, Task

_SECONDS: Final = 120.0
_GIT: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")


class WorldError(EvaluatorError):
    """A world that cannot be made: nobody's failure but ours."""


Builder = Callable[[Path], object]
"""Given the empty world, fills it."""


@dataclass(kw_only=True)
class Starts:
    """The start states of a suite's tasks, each made when it is first needed."""

    suite: Suite
    base: Path
    """What paths of the suite are relative to."""

    folder: Path
    """Where they are kept; the agents do not see it."""

    builders: Mapping[str, Builder] = field(default_factory=dict)
    """By task, functions of this process that make the start state."""

    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def copy(self, task: Task, world: Path) -> None:
        """Fill a folder that is there with the start state of a task.

        Raises:
            WorldError: it cannot be made.
        """
        try:
            copy_tree(self.made(task), world)
        except OSError as error:
            raise WorldError(f"the world of {task.id} cannot be copied: {error}") from error

    def made(self, task: Task) -> Path:
        """Return the folder that holds the start state; one that somebody changed is made anew.

        Raises:
            WorldError: it cannot be made.
        """
        key = self._key(task)
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        place = self.folder / key
        with lock:
            if self._digests.get(key) not in (None, digest_of(place)):
                shutil.rmtree(place, ignore_errors=True)
                del self._digests[key]
            if key not in self._digests:
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(parents=True)
                try:
                    self._make(task, place)
                except (OSError, sqlite3.Error) as error:
                    raise WorldError(f"the start state of {task.id} cannot be made: {error}") from error
                self._digests[key] = digest_of(place)
        return place

    def _key(self, task: Task) -> str:
        """Return what the start state is kept under: tasks that begin alike share one."""
        start = None if task.start is None else task.start.model_dump(mode="python")
        return digest({"start": start, "builder": task.id if task.id in self.builders else None})[:16]

    def touched(self, task: Task) -> bool:
        """Return whether somebody changed what every attempt begins with."""
        key = self._key(task)
        known = self._digests.get(key)
        return known is not None and known != digest_of(self.folder / key)

    def _make(self, task: Task, place: Path) -> None:
        start = task.start or Start.model_construct()
        if start.folder is not None:
            source = self.base / start.folder
            if not source.is_dir():
                raise WorldError(f"task {task.id}: there is no folder {source}")
            copy_tree(source, place)
        if start.git is not None:
            check_out(self.base / start.git.repo, start.git, place)
        if start.sqlite is not None:
            copy_database(self.base / start.sqlite, place / Path(start.sqlite).name)
        if start.python is not None:
            call_python(start.python, self.base, place)
        if (builder := self.builders.get(task.id)) is not None:
            try:
                builder(place)
            except Exception as error:  # anybody's code: whatever it raises, there is no world
                raise WorldError(f"the start state of {task.id} cannot be made: {error!r}") from error


def copy_tree(source: Path, place: Path) -> None:
    """Copy what a folder holds into one that is there: files, folders, links as links; nothing else.

    Raises:
        OSError: it cannot be done.
    """
    left = [""]
    while left:
        at = left.pop()
        with os.scandir(source / at) as entries:
            for entry in entries:
                inner = os.path.join(at, entry.name)  # noqa: PTH118  # of texts, many times
                if entry.is_symlink():
                    (place / inner).symlink_to(os.readlink(entry.path))  # noqa: PTH115  # a text, as it is
                elif entry.is_dir(follow_symlinks=False):
                    (place / inner).mkdir(exist_ok=True)
                    left.append(inner)
                elif entry.is_file(follow_symlinks=False):
                    shutil.copy2(entry.path, place / inner, follow_symlinks=False)


def digest_of(folder: Path) -> str:
    """Return a hash of all that lies in a folder, by path; of a folder that is not there, the empty text."""
    if not folder.is_dir():
        return ""
    total = hashlib.sha256()
    for path, print_ in sorted(fingerprints(folder, git=True).items()):
        total.update(f"{path}\0{print_}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def fingerprints(folder: Path, *, git: bool = False) -> dict[str, str]:
    """Return what differs where a file differs, by path: of files and links; of git's own folder only where asked."""
    found: dict[str, str] = {}
    left = [""]
    while left:
        at = left.pop()
        try:
            entries = list(os.scandir(folder / at))
        except OSError:
            found[at or "."] = "unreadable"
            continue
        for entry in entries:
            path = f"{at}{entry.name}"
            if entry.is_symlink():
                found[path] = f"link to {os.readlink(entry.path)}"  # noqa: PTH115  # a text, as it is
            elif entry.is_dir(follow_symlinks=False):
                if git or path != ".git":
                    left.append(f"{path}/")
            elif entry.is_file(follow_symlinks=False):
                try:
                    with open(entry.path, "rb") as file:  # noqa: PTH123
                        found[path] = hashlib.file_digest(file, "sha256").hexdigest()
                except OSError:
                    found[path] = "unreadable"
            else:
                found[path] = "special"
    return found


def check_out(repo: Path, start: GitStart, place: Path) -> None:
    """Make a repository that knows one commit and its history, and nothing later: no branch, tag or remote.

    Raises:
        WorldError: there is no such commit, or no git.
    """
    if not repo.is_dir():
        raise WorldError(f"there is no repository {repo}")
    commit = _git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{start.commit}^{{commit}}").strip()
    if not commit:
        raise WorldError(f"{repo} has no commit {start.commit}")
    _git(place, "init", "--quiet", "--template=", "--initial-branch=main", ".")
    objects = _git_bytes(repo, "pack-objects", "--revs", "--stdout", "-q", given=commit + b"\n")
    _git_bytes(place, "unpack-objects", "-q", given=objects)
    text = commit.decode("ascii")
    _git(place, "update-ref", "HEAD", text)
    _git(place, "reset", "--quiet", "--hard", text)


def _git(folder: Path, *arguments: str) -> bytes:
    return _git_bytes(folder, *arguments)


def _git_bytes(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    env |= {
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *_GIT, *arguments],
            input=given,
            capture_output=True,
            env=env,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise WorldError("there is no git, and the suite begins with a repository") from error
    except subprocess.TimeoutExpired as error:
        raise WorldError(f"git {arguments[0]} took more than {_SECONDS:g} seconds") from error
    if done.returncode != 0 and arguments[0] != "rev-parse":
        raise WorldError(f"git {arguments[0]} in {folder}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


def copy_database(source: Path, place: Path) -> None:
    """Copy an SQLite file as one transaction sees it.

    Raises:
        WorldError: there is none.
        sqlite3.Error: it is none.
    """
    if not source.is_file():
        raise WorldError(f"there is no SQLite file {source}")
    with (
        closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as read,
        closing(sqlite3.connect(place)) as written,
    ):
        read.backup(written)


_PROGRAM: Final = """
import importlib, importlib.util, sys
folder, where, name, world = sys.argv[1:]
sys.path.insert(0, folder)
if where.endswith(".py"):
    spec = importlib.util.spec_from_file_location("spanproof_suite_code", where)
    found = importlib.util.module_from_spec(spec)
    sys.modules["spanproof_suite_code"] = found
    spec.loader.exec_module(found)
else:
    found = importlib.import_module(where)
for part in name.split("."):
    found = getattr(found, part)
import pathlib
found(pathlib.Path(world))
"""


def call_python(function: str, base: Path, world: Path) -> None:
    """Call a function of the suite's own with the path of a world, in a process of its own.

    Raises:
        WorldError: it failed.
    """
    where, _, name = function.rpartition(":")
    place = str(base / where) if where.endswith(".py") else where
    argv = [sys.executable, "-P", "-c", _PROGRAM, str(base), place, name, str(world)]
    try:
        done = subprocess.run(
            argv,
            cwd=world,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise WorldError(f"{function} took more than {_SECONDS:g} seconds") from error
    if done.returncode != 0:
        raise WorldError(f"{function} failed: {done.stderr.decode('utf-8', 'replace').strip()[-500:]}")
