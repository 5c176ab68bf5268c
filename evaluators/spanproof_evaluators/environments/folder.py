"""A folder as a world: copied, and what each tool does to it said as write, edit, delete, move, read or run."""

import fnmatch
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from spanproof_evaluators.environments._config import Delete, Edit, FolderConfig, Move, Read, Run, Write
from spanproof_evaluators.environments._environment import Answer, Call, Recording, World
from spanproof_evaluators.environments._meant import as_meant
from spanproof_evaluators.environments._process import run
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check


class FolderEnvironment:
    """Worlds that begin with one folder."""

    def __init__(self, config: FolderConfig, folder: Path, version: str) -> None:
        self._config, self._start = config, folder / config.start
        self.name = config.name
        self.version = version
        self.simulated = config.simulated
        self.irreversible = config.irreversible

    def fits(self, recording: Recording) -> bool:
        """Return False: it is asked for by its file."""
        return False

    def start(self, recording: Recording) -> World:
        """Return a copy of the start folder."""
        return FolderWorld(self._config, self._start, recording.task_id)


class _RefusedError(Exception):
    """What the folder does not do: it is the tool's error."""


class FolderWorld:
    """A copy of a folder."""

    def __init__(self, config: FolderConfig, start: Path, task_id: str | None) -> None:
        self._config, self._start, self._task_id = config, start, task_id
        self._holder = Path(tempfile.mkdtemp(prefix="spanproof-replay-")).resolve()
        self._folder = self._holder / "copy"
        shutil.copytree(start, self._folder, symlinks=True)

    def apply(self, call: Call) -> Answer:
        """Do to the copy what the tool does."""
        tool = self._config.tools.get(call.name)
        given = call.arguments if isinstance(call.arguments, dict) else {}
        try:
            match tool:
                case None:
                    raise _RefusedError(f"the environment has no tool {call.name}")
                case Write():
                    self._write(self._path(given, tool.write), _text(given, tool.text))
                case Edit():
                    self._edit(self._path(given, tool.edit), _text(given, tool.old), _text(given, tool.new))
                case Delete():
                    _delete(self._path(given, tool.delete))
                case Move():
                    self._move(self._path(given, tool.move), self._path(given, tool.to))
                case Read():
                    return Answer(result=self._path(given, tool.read).read_text(encoding="utf-8"))
                case Run():
                    return self._run(tool, given)
        except (_RefusedError, OSError, UnicodeError) as error:
            return Answer(error=self._as_recorded(str(error)))
        return Answer(comparable=False)

    def state(self) -> Plain:
        """Return the texts by path; of what is no text, its hash."""
        return {path: _content(file) for path, file in self._files()}

    def end_state(self) -> EndState:
        """Return the texts by path."""
        texts = {path: _content(file) for path, file in self._files()}
        return EndState(files={path: text for path, text in texts.items() if isinstance(text, str)})

    def close(self) -> None:
        """Delete the copy."""
        shutil.rmtree(self._holder, ignore_errors=True)

    def verify(self, done: Recording) -> Sequence[Check]:
        """Return whether the state is the one that the task's expected calls give; nothing where none are written."""
        gold = self._config.expected.get(self._task_id or "")
        if gold is None:
            return []
        return [as_meant(self.state(), gold, lambda: FolderWorld(self._config, self._start, self._task_id))]

    def _path(self, given: Mapping[str, Plain], name: str) -> Path:
        """Return the place in the copy that an argument names: relative, or below the recorded root."""
        told = PurePosixPath(_text(given, name))
        if self._config.root is not None and told.is_relative_to(self._config.root):
            told = told.relative_to(self._config.root)
        place = (self._folder / told).resolve()
        if not place.is_relative_to(self._folder):
            raise _RefusedError(f"{told} is outside the folder")
        return place

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))

    def _edit(self, file: Path, old: str, new: str) -> None:
        text = file.read_bytes().decode("utf-8")
        count = text.count(old) if old else 0
        if count != 1:
            raise _RefusedError(f"the text to replace stands {count} times in {file.name}")
        file.write_bytes(text.replace(old, new).encode("utf-8"))

    def _move(self, file: Path, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, to)

    def _run(self, tool: Run, given: Mapping[str, Plain]) -> Answer:
        command: str | list[str]
        if isinstance(tool.run, str):
            command = _text(given, tool.run)
            if self._config.root is not None:
                command = command.replace(self._config.root, str(self._folder))
        else:
            arguments = {key: value if isinstance(value, str) else str(value) for key, value in given.items()}
            try:
                command = [part.format_map(arguments) for part in tool.run]
            except (KeyError, ValueError, IndexError) as error:
                raise _RefusedError(f"the command has no argument {error}") from error
        code, written = run(command, self._folder, seconds=tool.seconds, output=tool.output)
        told = self._as_recorded(written)
        if code is None:
            return Answer(error=f"not done after {tool.seconds:g} s\n{told}")
        return Answer(result=told) if code == 0 else Answer(error=f"exit code {code}\n{told}")

    def _as_recorded(self, text: str) -> str:
        """Return a text in which the copy lies where the folder lay when it was recorded."""
        return text.replace(str(self._folder), self._config.root or ".")

    def _files(self) -> Iterator[tuple[str, Path]]:
        for file in sorted(self._folder.rglob("*")):
            inside = file.relative_to(self._folder)
            if not file.is_dir() and not any(
                fnmatch.fnmatch(part, name) for part in inside.parts for name in self._config.ignore
            ):
                yield inside.as_posix(), file


def _text(given: Mapping[str, Plain], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise _RefusedError(f"the call has no argument {name} that is a text")
    return value


def _delete(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()


def _content(file: Path) -> Plain:
    if file.is_symlink():
        return {"link": str(file.readlink())}
    if not file.is_file():
        return {"special": True}
    data = file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
