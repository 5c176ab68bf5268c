"""Who is evaluated: a command, a function, or a service. How each is written, and what it is given.

A command finds the prompt where ``{prompt}`` stands, else on its standard input; every agent also finds it in
``SPANPROOF_PROMPT`` and in the file ``SPANPROOF_PROMPT_FILE``. What it answers is what it writes into
``SPANPROOF_ANSWER_FILE``, else what its trace says, else what it prints.
"""

import importlib.util
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from spanproof_evaluators.errors import EvaluatorError

PROMPT: Final = "{prompt}"
_FUNCTION: Final = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
_LONGEST: Final = 100_000
"""Longer prompts stand in the file and on standard input only: systems limit what a variable or argument may hold."""


class AgentError(EvaluatorError):
    """An agent that cannot be run as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAgent:
    """A program and its arguments, started without a shell."""

    command: tuple[str, ...]

    def argv(self, prompt: str) -> list[str]:
        """Return the command with the prompt filled in."""
        return [word.replace(PROMPT, prompt) for word in self.command]

    @property
    def by_argument(self) -> bool:
        """Whether the prompt stands in the command, and standard input is empty."""
        return any(PROMPT in word for word in self.command)

    @property
    def written(self) -> str:
        """The agent as it is written."""
        return shlex.join(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionAgent:
    """A Python function, called in a process of its own: ``function(prompt)``; it returns its answer, or ``None``."""

    function: str
    folder: Path
    """Where its module is looked for first."""

    @property
    def written(self) -> str:
        """The agent as it is written."""
        return self.function


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAgent:
    """A service: it is sent JSON with ``prompt`` and the labels, and answers JSON with ``answer``."""

    url: str

    @property
    def written(self) -> str:
        """The agent as it is written."""
        return self.url


Agent: TypeAlias = CommandAgent | FunctionAgent | HttpAgent


def read_agent(given: "str | Callable[..., object] | Agent", folder: Path, *, boxed: bool = False) -> Agent:
    """Return the agent that is written so.

    Args:
        given: ``http://…``, ``module:function``, a command, a function of a module, or an agent.
        folder: where modules are looked for, and programs by a relative path.
        boxed: whether it runs in containers, whose programs nobody here knows: a command stays as it is.

    Raises:
        AgentError: there is no such agent.
    """
    if isinstance(given, CommandAgent | FunctionAgent | HttpAgent):
        return given
    if not isinstance(given, str):
        return _function_of(given, folder)
    if given.startswith(("http://", "https://")):
        return HttpAgent(url=given)
    if _FUNCTION.match(given):
        return _named_function(given, folder)
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise AgentError(f"--agent {given!r} is no command: {error}") from error
    if not words:
        raise AgentError("--agent is empty: give a command, module:function or http://…")
    if boxed:
        return CommandAgent(command=tuple(words))
    return CommandAgent(command=tuple(_absolute(word, folder, place) for place, word in enumerate(words)))


def given_in_environment(prompt: str) -> Mapping[str, str]:
    """Return the variables that hold the prompt; none where it is too long for one."""
    return {"SPANPROOF_PROMPT": prompt} if len(prompt) <= _LONGEST and "\0" not in prompt else {}


def _absolute(word: str, folder: Path, place: int) -> str:
    """Return a word of a command; a file of the folder by its full path, since the agent runs in its world.

    Raises:
        AgentError: the program is not to be found.
    """
    if place and PROMPT not in word and not word.startswith("-") and (folder / word).is_file():
        return str(folder / word)
    if place:
        return word
    if "/" in word:
        found = folder / word
        if not found.is_file():
            raise AgentError(f"--agent: there is no program {found}")
        return str(found)
    if shutil.which(word) is None:
        raise AgentError(f"--agent: {word} is not found. Give a command, module:function or http://…")
    return word


def _named_function(given: str, folder: Path) -> FunctionAgent:
    """Return the agent that a function of a module is; the module is found, and not imported here.

    Raises:
        AgentError: there is no such module.
    """
    top = given.partition(":")[0].partition(".")[0]
    here = (folder / f"{top}.py").is_file() or (folder / top).is_dir()
    if not here and importlib.util.find_spec(top) is None:
        raise AgentError(f"--agent {given}: there is no module {top} in {folder} or among what is installed")
    return FunctionAgent(function=given, folder=folder)


def _function_of(given: Callable[..., object], folder: Path) -> FunctionAgent:
    """Return the agent that a function is.

    Raises:
        AgentError: another process cannot find it.
    """
    module, name = getattr(given, "__module__", None), getattr(given, "__qualname__", "")
    if not module or module == "__main__" or "<" in name:
        raise AgentError(
            f"{given!r} cannot be called in another process: give a function of a module, or 'module:function'"
        )
    return FunctionAgent(function=f"{module}:{name}", folder=folder)
