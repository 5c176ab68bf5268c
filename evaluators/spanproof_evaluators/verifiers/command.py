"""A command in a copy of a folder: its exit code decides.

An expected code passes; any other one fails, but for those that say that it did not run: not found (127), not
executable (126), ended by a signal (negative, and 129 to 159 as a shell tells it), a timeout, too much output.
"""

import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from spanproof_evaluators.model.checks import CommandCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._kind import GapError, gap, place, tail
from spanproof_evaluators.verifiers._process import Ran, clean_environment, run
from spanproof_evaluators.verifiers._secrets import MissingVariableError, Secrets
from spanproof_evaluators.verifiers._show import shown

_NOT_RUN: Final = {126: "command_not_executable", 127: "command_not_found"}


def check_command(spec: CommandCheck, after: EndState) -> list[Check]:
    """Run the command in a copy of the folder as it is after."""
    said = spec.run if isinstance(spec.run, str) else shown(list(spec.run))
    codes = ", ".join(str(code) for code in spec.exit_codes)
    name = f"{said} ends with {codes}"
    secrets = Secrets()
    started = time.time_ns()
    try:
        found = _run(spec, after, name, secrets)
    except GapError as error:
        found = gap(name, error, secrets)
    except MissingVariableError as error:
        found = gap(name, GapError("variable_not_set", str(error)), secrets)
    return [replace(found, seen=secrets.masked(found.seen), destination=spec.destination, time=started)]


def _run(spec: CommandCheck, state: EndState, name: str, secrets: Secrets) -> Check:
    root = Path(place(state, spec.destination, "folder", "git").location)
    with tempfile.TemporaryDirectory(prefix="spanproof-verifier-", ignore_cleanup_errors=True) as temporary:
        copy, home = Path(temporary) / "work", Path(temporary) / "home"
        home.mkdir()
        copy_folder(root, copy, spec.max_copy_bytes)
        folder = copy / spec.folder
        if not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(copy)) or not folder.is_dir():
            raise GapError("folder_missing", f"there is no folder {spec.folder} in {root}")
        env = clean_environment(home)
        for variable in spec.pass_env:
            env[variable] = secrets.filled(f"${{{variable}}}")
        env |= {key: secrets.filled(value) for key, value in spec.env.items()}
        argv = ["/bin/sh", "-c", spec.run] if isinstance(spec.run, str) else list(spec.run)
        ran = run(argv, folder=folder, env=env, timeout=spec.timeout, max_output=spec.max_output)
    return _judged(spec, replace(ran, out=_relative(ran.out, copy), err=_relative(ran.err, copy)), name)


def _relative(said: bytes, copy: Path) -> bytes:
    """Return what a command says with paths below its folder, not below ours: it is the same every time then."""
    return said.replace(os.fsencode(copy) + os.fsencode(os.sep), b"").replace(os.fsencode(copy), b".")


def _judged(spec: CommandCheck, ran: Ran, name: str) -> Check:
    """Return what an exit code says."""
    seen = f"exit code {ran.code}" if ran.code >= 0 else f"killed by signal {-ran.code}"
    if ran.said:
        seen += f"\n{tail(ran.said)}"
    if ran.code in spec.exit_codes:
        return Check(name=name, passed=True, seen=seen)
    if spec.failed_codes is not None:
        if ran.code in spec.failed_codes:
            return Check(name=name, passed=False, seen=seen)
        raise GapError(_NOT_RUN.get(ran.code, "unexpected_exit_code"), seen)
    if ran.code in _NOT_RUN:
        raise GapError(_NOT_RUN[ran.code], seen)
    if ran.code < 0 or 129 <= ran.code <= 159:
        raise GapError("killed_by_signal", seen)
    return Check(name=name, passed=False, seen=seen)


def copy_folder(root: Path, copy: Path, most: int) -> None:
    """Copy a folder: files, folders and links. A link into the folder by its full path points into the copy then.

    Pipes, sockets and devices are left out.

    Raises:
        GapError: there is no such folder, it cannot be read, or is too large.
    """
    if not root.is_dir():
        raise GapError("folder_missing", f"there is no folder {root}")
    real = Path(os.path.realpath(root))
    total = 0
    left = [Path()]
    try:
        while left:
            at = left.pop()
            (copy / at).mkdir(parents=True)
            with os.scandir(real / at) as entries:
                for entry in entries:
                    inner = at / entry.name
                    if entry.is_symlink():
                        (copy / inner).symlink_to(_target(real, real / inner, copy))
                    elif entry.is_dir(follow_symlinks=False):
                        left.append(inner)
                    elif entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_size
                        if total > most:
                            raise GapError("folder_too_large", f"{root} holds more than {most:,} bytes")
                        shutil.copy2(real / inner, copy / inner, follow_symlinks=False)
    except OSError as error:
        raise GapError("folder_unreadable", f"{error.filename}: {error.strerror}") from error


def _target(root: Path, link: Path, copy: Path) -> str:
    """Return where the copy of a link points: never into the folder that was copied."""
    target = link.readlink()
    joined = Path(os.path.normpath(link.parent / target))
    resolved = Path(os.path.realpath(link))
    for absolute in (joined, resolved):
        if absolute.is_relative_to(root):
            return os.path.relpath(copy / absolute.relative_to(root), copy / link.parent.relative_to(root))
    return str(joined)
