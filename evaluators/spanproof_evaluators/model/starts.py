"""Where a task begins, what is hidden from the agent, and what happens in the world while it works: as people write it.

    "start": {"git": {"repo": "shop.git", "commit": "3f2c1ab…"}, "sqlite": "shop.sqlite"},
    "hidden": {"folder": "hidden/refund"},
    "protected": ["tests/**"],
    "changes": [{"after": {"tool_calls": 2}, "sql": "UPDATE orders SET status = 'cancelled' WHERE id = 7"}],
    "user": {"run": "python3 user.py"}

Paths are relative to the file of the suite.
"""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.written import Texts, Written

WORLD: Final = "world"
"""The destination that checks of a task with a start state find the world at: a folder."""

DATABASE: Final = "database"
"""The destination of the database that lies in the world, where the start state has one."""


class GitStart(Written):
    """A repository as it was at one commit, with its history up to there and nothing later."""

    repo: str = Field(min_length=1)
    commit: str = Field(pattern=r"^[0-9a-fA-F]{7,64}$")
    """Its hash: a branch moves."""


class ContainerStart(Written):
    """A folder of a container image: the agent runs in a container of it, and the folder is its world."""

    image: str = Field(min_length=1)
    folder: str = Field(default="/world", pattern=r"^/.*[^/]$")


class Start(Written):
    """The state of the world that every attempt begins with, copied for each."""

    folder: str | None = Field(default=None, min_length=1)
    git: GitStart | None = None
    sqlite: str | None = Field(default=None, min_length=1)
    """An SQLite file; a copy of it lies in the world under the same name."""

    python: str | None = Field(default=None, pattern=r"^[^:]+:[A-Za-z_][A-Za-z0-9_.]*$")
    """``module:function`` or ``path/to/file.py:function``: called once with the path of the world, to make it up."""

    container: str | ContainerStart | None = None

    @model_validator(mode="after")
    def _one_ground(self) -> Self:
        if all(one is None for one in (self.folder, self.git, self.sqlite, self.python, self.container)):
            raise ValueError("say what the world begins with: folder, git, sqlite, python or container")
        if sum(one is not None for one in (self.folder, self.git, self.container)) > 1:
            raise ValueError("give one of folder, git and container; sqlite and python add to folder or git")
        if self.container is not None and (self.sqlite or self.python):
            raise ValueError("a container's image holds all of its world: sqlite and python cannot add to it")
        return self

    @property
    def image(self) -> ContainerStart | None:
        """The container that the agent runs in; ``None`` where it runs in none."""
        return ContainerStart(image=self.container) if isinstance(self.container, str) else self.container

    @property
    def destinations(self) -> frozenset[str]:
        """What checks may look at without its being named among the suite's destinations."""
        return frozenset({WORLD, DATABASE} if self.sqlite is not None else {WORLD})


class Hidden(Written):
    """Files that the agent never sees. They are laid over a copy of its world once it is dead."""

    folder: str | None = Field(default=None, min_length=1)
    files: dict[str, str] = Field(default={})
    """Texts by path in the world."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.folder is None and not self.files:
            raise ValueError("name a folder, or give files by path")
        for path in self.files:
            if path.startswith("/") or ".." in path.split("/") or not path:
                raise ValueError(f"{path!r} leaves the world")
        return self


class After(Written):
    """The event that a change follows. One of the three."""

    tool_calls: int | None = Field(default=None, ge=1)
    """So many calls of tools by the agent have ended."""

    seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    file_appears: str | None = Field(default=None, min_length=1)
    """A pattern, relative to the world."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.tool_calls, self.seconds, self.file_appears)) != 1:
            raise ValueError("give one of tool_calls, seconds and file_appears")
        if self.file_appears is not None and (
            self.file_appears.startswith("/") or ".." in self.file_appears.split("/")
        ):
            raise ValueError(f"{self.file_appears!r} leaves the world. The pattern is relative to it")
        return self


class Change(Written):
    """Something that happens in the world while the agent works. The changes of a task happen in their order."""

    after: After
    run: str | Texts | None = None
    """A command in the world; a text is given to ``sh -c``."""

    sql: str | None = None
    """Statements on the world's database."""

    python: str | None = Field(default=None, pattern=r"^[^:]+:[A-Za-z_][A-Za-z0-9_.]*$")
    """``module:function`` or ``path/to/file.py:function``, called with the path of the world."""

    by: Literal["world", "user"] = "world"
    """``user``: the user whom the agent works for did it, by a tool of theirs: recorded as a call of the user."""

    name: str = Field(default="", max_length=200)
    """What it is called in the trial."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.run, self.sql, self.python)) != 1:
            raise ValueError("give one of run, sql and python")
        return self


class ScriptedUser(Written):
    """The user as a process of its own beside the agent, in the same world. Calls of its tools are the user's."""

    run: str | Texts
    """A command; a text is given to ``sh -c``."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.run:
            raise ValueError("run is empty")
        return self
