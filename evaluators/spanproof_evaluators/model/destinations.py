"""Destinations: where the world is that a trial was to change, as people write it."""

import os
import re
from pathlib import Path
from typing import Final, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.end_states import Place, PlaceKind
from spanproof_evaluators.model.placeholders import (
    ANY_PLACEHOLDER,
    PLACEHOLDER,
    PlaceholderError,
    Values,
    filled,
)
from spanproof_evaluators.model.written import Written

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference to a variable of the environment, filled in only when somebody looks."""

_PASSWORD: Final = re.compile(r"^[a-z][a-z0-9+.-]*://[^/@\s]*:(?P<password>[^/@\s]*)@", re.IGNORECASE)
_SECRET_HEADER: Final = re.compile(r"auth|cookie|token|key|secret", re.IGNORECASE)
_SQLITE: Final = re.compile(r"^(sqlite(?:\+\w+)?:///)(?!/)(?!:memory:)(.+)$")


class Destination(Written):
    """One place: ``folder``, ``sql``, ``http`` or ``git``. Paths are relative to the file that they stand in."""

    folder: str | None = None
    sql: str | None = None
    """Any address that SQLAlchemy reads."""

    http: str | None = None
    """What every path is appended to."""

    git: str | None = None
    before: str | None = None
    """Where the same is kept as it was before the trial: a copy, a snapshot. Else the state before is not judged."""

    headers: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if sum(one is not None for one in (self.folder, self.sql, self.http, self.git)) != 1:
            raise ValueError("give one of folder, sql, http and git")
        if self.headers and self.http is None:
            raise ValueError("headers are sent over http, and to nothing else")
        if self.http is not None and not self.http.startswith(("http://", "https://", "${")):
            raise ValueError("an http address begins with http:// or https://")
        for text in (self.location, *([self.before] if self.before else [])):
            password = _PASSWORD.match(text)
            if password and not REFERENCE.fullmatch(password["password"]):
                raise ValueError("a password stands in the address. Keep it in a variable, and write ${NAME} there")
            for found in ANY_PLACEHOLDER.finditer(text):
                if not PLACEHOLDER.fullmatch(found[0]):
                    raise ValueError(f"nothing is called {found[0]}: trial_id, task_id, label.KEY and the like are")
        for name, value in self.headers.items():
            if _SECRET_HEADER.search(name) and not REFERENCE.search(value):
                raise ValueError(f"header {name} holds a secret. Keep it in a variable, and write ${{NAME}} there")
        return self

    @property
    def kind(self) -> PlaceKind:
        """What kind of place it is."""
        if self.folder is not None:
            return "folder"
        if self.sql is not None:
            return "sql"
        return "http" if self.http is not None else "git"

    @property
    def location(self) -> str:
        """Where it is, as it is written."""
        return next(one for one in (self.folder, self.sql, self.http, self.git) if one is not None)

    def place(self, values: Values, base: Path) -> Place:
        """Return the place after a trial; ``base`` is what paths are relative to."""
        return self._place(self.location, values, base)

    def place_before(self, values: Values, base: Path) -> Place | None:
        """Return the place that holds the state before, ``None`` where none is named."""
        return None if self.before is None else self._place(self.before, values, base)

    def _place(self, location: str, values: Values, base: Path) -> Place:
        try:
            text = filled(location, values)
        except PlaceholderError as error:
            return Place(kind=self.kind, location=location, problem=error.reason)
        if self.kind in ("folder", "git"):
            text = os.path.normpath(base / Path(text).expanduser())
        elif self.kind == "sql" and (sqlite := _SQLITE.match(text)):
            text = sqlite[1] + os.path.normpath(base / sqlite[2])
        return Place(kind=self.kind, location=text, headers=self.headers)
