"""Generic environments as people write them: YAML (JSON is YAML too) that says what each tool does to a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

from spanproof_evaluators.errors import DocumentError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.documents import read_document


class EnvironmentFileError(DocumentError):
    """A file that defines no environment."""


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Statements(_Written):
    """A tool on a SQLite file: statements with the call's arguments by name, all or none of them."""

    sql: str | list[str]
    gives: Literal["rows", "row", "value", "unknown"] = "rows"
    """What of the last statement the tool gives back; ``unknown``: nothing that could be held against the recording."""

    @property
    def statements(self) -> Sequence[str]:
        """The statements, in order."""
        return [self.sql] if isinstance(self.sql, str) else self.sql


class Write(_Written):
    """A tool that writes a file whole. The values name arguments of the call."""

    write: str
    text: str


class Edit(_Written):
    """A tool that puts one text in the place of another, which stands in the file exactly once."""

    edit: str
    old: str
    new: str


class Delete(_Written):
    """A tool that deletes a file or a folder."""

    delete: str


class Move(_Written):
    """A tool that moves a file or a folder."""

    move: str
    to: str


class Read(_Written):
    """A tool that gives a file's text."""

    read: str


class Run(_Written):
    """A tool that runs a command: the words of an argument in a shell, or always the same program."""

    run: str | list[str]
    """An argument's name; or a program and its arguments, in which ``{name}`` stands for an argument of the call."""

    seconds: float = Field(default=60, gt=0, le=3600)
    output: int = Field(default=100_000, gt=0)
    """How many bytes of its output are kept."""


class GoldCall(_Written):
    """A call that does what a task asks for."""

    tool: str
    arguments: dict[str, JsonValue] = {}


class _Config(_Written):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    start: str
    """The start state, a file or a folder beside the configuration. It is copied for each world."""

    simulated: bool = False
    """Say yes only where no call can reach anything outside its copy: then none is irreversible."""

    irreversible: frozenset[str] = frozenset()
    expected: dict[str, list[GoldCall]] = {}
    """By task, the calls that do what it asks for: the state after them is the one that is meant."""


class SqliteConfig(_Config):
    """A SQLite file and what tools do to it."""

    kind: Literal["sqlite"]
    tools: dict[str, Statements]


class FolderConfig(_Config):
    """A folder and what tools do to it."""

    kind: Literal["folder"]
    root: str | None = None
    """Where the folder lay when the calls were recorded: absolute paths below it are paths in the copy."""

    ignore: list[str] = [".git", "__pycache__", "node_modules", ".venv"]
    """Names of files and folders that are no part of the state."""

    tools: dict[str, Write | Edit | Delete | Move | Read | Run]


class _File(RootModel[Annotated[SqliteConfig | FolderConfig, Field(discriminator="kind")]]):
    """Either of them, told by its kind."""


def read_config(path: Path) -> tuple[SqliteConfig | FolderConfig, str]:
    """Return what a file defines, and its hash.

    Raises:
        EnvironmentFileError: it cannot be read, or says what no environment can do.
    """
    config = read_document(_File, path, EnvironmentFileError).root
    if not (path.parent / config.start).exists():
        raise EnvironmentFileError(str(path), "start", f"{config.start} does not exist beside it")
    return config, digest(config.model_dump(mode="json"))
