"""Environments: fresh worlds for recorded calls. A new one is a file here, or an entry point of another package."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from spanproof_evaluators.environments._changes import changes, hash_of
from spanproof_evaluators.environments._config import EnvironmentFileError, SqliteConfig, read_config
from spanproof_evaluators.environments._environment import (
    Answer,
    Call,
    Environment,
    Judging,
    Recording,
    Snapshotting,
    TellingMore,
    Words,
    World,
)
from spanproof_evaluators.environments._extras import MissingExtraError, NoWorldError
from spanproof_evaluators.environments._results import same
from spanproof_evaluators.environments.agentdojo import AgentDojo
from spanproof_evaluators.environments.folder import FolderEnvironment
from spanproof_evaluators.environments.sqlite import SqliteEnvironment
from spanproof_evaluators.environments.tau2 import Tau2
from spanproof_evaluators.errors import EvaluatorError
from spanproof_evaluators.model.documents import SUFFIXES

__all__ = [
    "ENTRY_POINTS",
    "ENVIRONMENTS",
    "Answer",
    "Call",
    "Environment",
    "EnvironmentFileError",
    "Judging",
    "MissingExtraError",
    "NoWorldError",
    "Recording",
    "Snapshotting",
    "TellingMore",
    "UnknownEnvironmentError",
    "Words",
    "World",
    "changes",
    "environment",
    "hash_of",
    "known",
    "same",
]

ENVIRONMENTS: Final[tuple[Environment, ...]] = (Tau2(), AgentDojo())
ENTRY_POINTS: Final = "spanproof.environments"
"""The group in which other packages list theirs: a name, and what makes the environment when it is called."""


class UnknownEnvironmentError(EvaluatorError):
    """A name or file that is no environment."""

    def __init__(self, asked: str, names: list[str]) -> None:
        super().__init__(f"{asked!r} is no environment and no file that defines one. Known: {', '.join(names)}")
        self.asked = asked


def known() -> Iterator[Environment]:
    """Yield the environments of this package, then those of others by their entry points."""
    yield from ENVIRONMENTS
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        made: Environment = entry.load()()
        yield made


def environment(asked: str) -> Environment:
    """Return the environment of a name, or the one that a file defines.

    Raises:
        UnknownEnvironmentError: there is none of that name, and no such file.
        EnvironmentFileError: the file defines none.
    """
    path = Path(asked)
    if path.suffix in SUFFIXES or path.is_file():
        if not path.is_file():
            raise EnvironmentFileError(str(path), "", "there is no such file")
        config, version = read_config(path)
        if isinstance(config, SqliteConfig):
            return SqliteEnvironment(config, path.parent, version)
        return FolderEnvironment(config, path.parent, version)
    every = list(known())
    for one in every:
        if one.name == asked:
            return one
    raise UnknownEnvironmentError(asked, [one.name for one in every])
