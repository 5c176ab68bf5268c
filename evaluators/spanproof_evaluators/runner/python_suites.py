r"""Suites in Python: tasks whose start state and verifiers are functions, and cases of the shapes that people have.

    from spanproof_evaluators.runner.python_suites import Task

    def shop(world):                       # given the path of the empty world
        (world / "orders.csv").write_text("id,state\n7,open\n")

    def closed(world):                     # given the path of the world as it was left
        assert "7,closed" in (world / "orders.csv").read_text()

    tasks = [Task("close-7", "Close order 7.", start_state=shop, verifiers=[closed], category="edit", runs=3)]

A verifier of one parameter is given the path of the world, one of two the state before and the state after; it says
what a ``python`` check says. Every list of such tasks at the top of the file is read, and so are lists of cases with
``name``, ``prompt``, ``check``, ``max_turns``, ``max_tokens``, and with ``id``, ``uppgift``, ``starttillstand``,
``verifiera``.
"""

import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from spanproof_evaluators.errors import SuiteError
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.starts import WORLD
from spanproof_evaluators.model.suites import Suite, read_suite
from spanproof_evaluators.model.suites import Task as WrittenTask
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.verifiers import Verifier, by_function, declared

Function = Callable[..., object]
Builder = Callable[[Path], object]

_FALL: Final = ("id", "uppgift", "starttillstand", "verifiera")
_CASE: Final = ("name", "prompt", "check", "max_turns", "max_tokens")


class Task:
    """A task with functions. What else a task has in a file, its category or limits, is given by keyword."""

    def __init__(
        self,
        id: str,  # noqa: A002  # as it is called in a file
        prompt: str,
        *,
        start_state: Function | None = None,
        verifiers: Sequence[Function] = (),
        **fields: object,
    ) -> None:
        """Take a task.

        Args:
            id: its name.
            prompt: what is asked.
            start_state: fills the empty world, whose path it is given; without a parameter, it returns the path of a
                folder that is copied.
            verifiers: all of them have to pass, and so do ``checks``.
            fields: as in a suite's file.

        Raises:
            SuiteError: a field is unknown or wrong.
        """
        try:
            self.written = WrittenTask.model_validate({"id": id, "prompt": prompt, **fields})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            raise SuiteError(f"task {id}", key, first["msg"].removeprefix("Value error, ")) from error
        self.start_state = start_state
        self.verifiers = tuple(verifiers)


@dataclass(frozen=True, kw_only=True)
class OpenSuite:
    """A suite, and the functions that its tasks have."""

    suite: Suite
    starts: Mapping[str, Builder] = field(default_factory=dict)
    verifiers: Mapping[str, Verifier] = field(default_factory=dict)


def open_suite(path: Path) -> OpenSuite:
    """Return the suite that a file holds, in Python or written down; or that the files of a folder hold.

    Raises:
        SuiteError: it holds none.
    """
    if path.suffix != ".py":
        return OpenSuite(suite=read_suite(path))
    try:
        code = path.read_bytes()
        module = _loaded(path)
    except Exception as error:
        raise SuiteError(str(path), "", f"cannot be loaded: {error!r}") from error
    tasks = [_task(one, str(path)) for one in _cases(module.values())]
    if not tasks:
        raise SuiteError(
            str(path), "", f"no list of tasks at its top. A task is Task(...), or has {', '.join(_CASE)} or {_FALL}"
        )
    return of_tasks(tasks, suite_id=path.stem, base=path.absolute().parent, code=code)


def of_tasks(tasks: Sequence[Task], *, suite_id: str, base: Path, code: bytes = b"") -> OpenSuite:
    """Return the suite of tasks that are functions.

    Args:
        tasks: the tasks.
        suite_id: its name.
        base: what paths are relative to.
        code: the text of the functions, part of the suite's hash.

    Raises:
        SuiteError: two tasks have one name, or a check looks where nothing is.
    """
    try:
        suite = Suite(id=suite_id, tasks=tuple(one.written for one in tasks))
    except ValidationError as error:
        raise SuiteError(suite_id, "", error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    suite.set_origin(base, hashlib.sha256(code).hexdigest() if code else None)
    return OpenSuite(
        suite=suite,
        starts={one.written.id: _builder(one.start_state) for one in tasks if one.start_state is not None},
        verifiers={one.written.id: _verifier(one, base) for one in tasks if one.verifiers},
    )


def _loaded(path: Path) -> dict[str, object]:
    """Return what a Python file defines."""
    name = f"spanproof_suite_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.absolute().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return dict(vars(module))


def _cases(values: Iterable[object]) -> list[object]:
    """Return the cases that stand in lists, each once."""
    found: dict[int, object] = {}
    for value in values:
        if isinstance(value, list | tuple) and value and all(_is_case(one) for one in value):
            found |= {id(one): one for one in value}
    return list(found.values())


def _is_case(value: object) -> bool:
    if isinstance(value, type):
        return False
    return isinstance(value, Task) or any(all(hasattr(value, name) for name in names) for names in (_FALL, _CASE))


def _task(case: object, name: str) -> Task:
    """Return a case as a task.

    Raises:
        SuiteError: one of its functions is none.
    """
    if isinstance(case, Task):
        return case
    if all(hasattr(case, one) for one in _FALL):
        return Task(
            str(getattr(case, "id")),  # noqa: B009  # of whatever class it is
            str(getattr(case, "uppgift")),  # noqa: B009
            start_state=_function(case, "starttillstand", name),
            verifiers=[_of_world(_function(case, "verifiera", name))],
        )
    limits = {"max_turns": getattr(case, "max_turns"), "max_tokens": getattr(case, "max_tokens")}  # noqa: B009
    return Task(
        str(getattr(case, "name")),  # noqa: B009
        str(getattr(case, "prompt")),  # noqa: B009
        verifiers=[_of_world(_function(case, "check", name))],
        limits=limits,
    )


def _function(case: object, field_: str, name: str) -> Function:
    found = getattr(case, field_)
    if not callable(found):
        raise SuiteError(name, field_, f"is {type(found).__name__}, and no function")
    return found  # type: ignore[no-any-return]  # whatever it returns is an object


def _of_world(function: Function) -> Function:
    """Return a function that is given the path of the world as text, as these shapes have it."""

    def asked(world: Path) -> object:
        return function(str(world))

    asked.__name__ = getattr(function, "__name__", asked.__name__)
    return asked


def _parameters(function: Function, otherwise: int) -> int:
    """Return how many parameters a function needs; ``otherwise`` where it does not tell, as some of C."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return otherwise
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is one.empty for one in parameters)


def _builder(function: Function) -> Builder:
    """Return what fills a world: the function itself, or a copy of the folder that it returns."""
    if _parameters(function, 0):
        return function

    def build(world: Path) -> None:
        import shutil

        made = function()
        if not isinstance(made, str | os.PathLike) or not Path(made).is_dir():
            raise TypeError(
                f"the start state is a {type(made).__name__}, and no path of a folder. A world that lives in a process "
                "is tried in that process: spanproof_evaluators.runner.in_process.try_cases"
            )
        shutil.copytree(made, world, symlinks=True, dirs_exist_ok=True)

    return build


def _verifier(task: Task, base: Path) -> Verifier:
    """Return the verifier of a task: its functions, and its checks beside them."""
    asked = [_one(function) for function in task.verifiers]
    if task.written.checks:
        asked.append(declared(task.written.checks, base=base))

    def verify(before: EndState | None, after: EndState) -> Verification:
        found: list[Check] = []
        for one in asked:
            found += one(before, after).checks
        return Verification.of(found, pass_score=task.written.pass_score)

    return verify


def _one(function: Function) -> Verifier:
    name = f"{getattr(function, '__name__', 'a function')} says so"
    if _parameters(function, 1) >= 2:
        return by_function(function, name=name)

    def of_world(before: EndState | None, after: EndState) -> object:
        said = function(Path(after.places[WORLD].location))
        return True if said is None else said  # it asserted nothing wrong

    return by_function(of_world, name=name)
