"""Where a task comes from, and what solves it: as people write it.

"origin": {"source": "failure", "trial": "7f3a…", "outcome": "failed"},
"reference": {"files": {"app/money.py": "…"}, "answer": "Refunded ORD-1001."}
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.written import Texts, Written

Source = Literal["log", "failure", "ticket", "generated", "invented"]
"""``log``: a recorded session; ``failure``: one that went wrong; ``ticket``: work that was asked for and done;
``generated``: by a model; ``invented``: by a person at a desk."""


class Origin(Written):
    """Where a task comes from."""

    source: Source
    trial: str | None = None
    """The recorded trial that it was taken from."""

    outcome: Literal["verified", "failed", "unavailable"] | None = None
    """What became of that trial."""

    model: str | None = None
    """The model that wrote the task or its expected answer; ``None``: a person did."""

    checked_by: str | None = None
    """The person who checked what is expected, where a model or a recorded answer gave it."""


class Reference(Written):
    """A solution by somebody who knows how. It is made in a fresh world, in this order."""

    folder: str | None = Field(default=None, min_length=1)
    """Files that are laid over the world; the path is relative to the suite's file."""

    files: dict[str, str] = Field(default={})
    """Texts by path in the world."""

    run: str | Texts | None = None
    """A command in the world; a text is given to ``sh -c``."""

    sql: str | None = None
    """Statements on the world's database."""

    answer: str | None = None
    """What is answered."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.folder or self.files or self.run or self.sql or self.answer is not None):
            raise ValueError("say how the task is solved: folder, files, run, sql or answer")
        for path in self.files:
            if path.startswith("/") or ".." in path.split("/") or not path:
                raise ValueError(f"{path!r} leaves the world")
        return self
