"""Baselines: what a variant did on a set of tasks, saved under a name to compare later ones with.

A baseline is a JSON file that can lie in a repository beside the suite. It holds what a comparison takes of each trial,
no content of any.
"""

import re
from decimal import Decimal
from pathlib import Path
from typing import Final, Self

from pydantic import Field, model_validator

from spanproof_evaluators.errors import BaselineError
from spanproof_evaluators.model.comparisons import Observation
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Written

DEFAULT_FOLDER: Final = Path(".spanproof-baselines")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class _Trial(Written):
    """One trial, as it is saved."""

    trial_id: str
    task_id: str | None
    category: str = ""
    left_out: str | None = None
    solved: bool | None = None
    false_success: bool | None = None
    aborted: bool | None = None
    cost_usd: Decimal | None = Field(default=None, strict=False)
    tokens: int | None = None
    tool_calls: int | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    evidence: str = ""


class Baseline(Written):
    """What a variant did."""

    name: str
    variant: str
    saved_at: str
    """ISO 8601, UTC."""

    suite: str | None
    suite_hash: str | None
    certificate: str
    """Of the report on these trials when they were saved."""

    trials: tuple[_Trial, ...] = Field(strict=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.trials:
            raise ValueError("a baseline without a trial")
        return self

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Its trials, as a comparison takes them."""
        return tuple(Observation(**one.model_dump()) for one in self.trials)


def path_of(folder: Path, name: str) -> Path:
    """Return the file of a baseline.

    Raises:
        BaselineError: the name is none.
    """
    if not _NAME.fullmatch(name):
        raise BaselineError(
            name, "", "a baseline's name has letters, digits, dots, dashes and underscores, 100 at most"
        )
    return folder / f"{name}.json"


def read_baseline(folder: Path, name: str) -> Baseline:
    """Return a saved baseline.

    Raises:
        BaselineError: there is none of that name, or it cannot be read.
    """
    path = path_of(folder, name)
    if not path.is_file():
        known = ", ".join(names(folder)) or "none yet"
        raise BaselineError(name, "", f"there is no such baseline in {folder}. There are: {known}")
    return read_document(Baseline, path, BaselineError)


def save_baseline(folder: Path, baseline: Baseline, *, replace: bool = False) -> Path:
    """Write a baseline and return its file.

    Raises:
        BaselineError: there is one of that name already, or the file cannot be written.
    """
    path = path_of(folder, baseline.name)
    if path.exists() and not replace:
        raise BaselineError(baseline.name, "", f"{path} is there already. Choose another name, or say --replace")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(baseline.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BaselineError(str(path), "", f"cannot be written: {error.strerror}") from error
    return path


def names(folder: Path) -> list[str]:
    """Return the names of the saved baselines."""
    return sorted(path.stem for path in folder.glob("*.json"))
