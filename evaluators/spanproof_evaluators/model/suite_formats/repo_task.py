"""A task in a repository: a commit, a prompt, commands that have to pass, and limits of the change.

    id: add-pagination
    repo_ref: 3f2c1ab
    prompt: …
    check: [pytest tests/test_payments_pagination.py, mypy app/]
    limits: {max_changed_files: 6}

The repository is the one that the file lies in. Each command is a check, and its exit code decides.
"""

from pathlib import Path
from typing import Final

from pydantic import Field

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suite_formats._format import Converted, Format, Item
from spanproof_evaluators.model.written import Texts, Written


class RepoLimits(Written):
    """What a change may touch, and what a trial may spend."""

    max_changed_files: int | None = Field(default=None, ge=0)
    max_changed_lines: int | None = Field(default=None, ge=0)
    max_steps: int | None = Field(default=None, ge=0)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_turns: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class RepoTask(Written):
    """A task."""

    id: str = Field(min_length=1)
    repo_ref: str = Field(pattern=r"^[0-9a-fA-F]{7,64}$")
    """The hash of a commit: a branch moves."""

    prompt: str = Field(min_length=1)
    check: Texts = Field(min_length=1)
    limits: RepoLimits = RepoLimits()


_OF_CHANGES: Final = ("max_changed_files", "max_changed_lines")


def _convert(found: Written, base: Path | None) -> Converted:
    assert isinstance(found, RepoTask)
    said = {key: value for key, value in found.limits.model_dump().items() if value is not None}
    checks: list[Plain] = [{"kind": "command", "destination": "world", "run": command} for command in found.check]
    changes: dict[str, Plain] = {key: said.pop(key) for key in _OF_CHANGES if key in said}
    if changes:
        checks.append({"kind": "git", "destination": "world", "base": found.repo_ref, **changes})
    task: dict[str, Plain] = {
        "id": found.id,
        "prompt": found.prompt,
        "start": {"git": {"repo": _repository(base), "commit": found.repo_ref}},
        "limits": said,
        "checks": checks,
    }
    return Converted(task=task, destinations={})


def _repository(base: Path | None) -> str:
    """Return where the repository is that a folder lies in, by a relative path; ours, where in none."""
    folder = base.absolute() if base is not None else None
    for up, above in enumerate((folder, *folder.parents) if folder is not None else ()):
        if (above / ".git").exists():
            return "/".join([".."] * up) or "."
    return "."


def _fits(item: Item) -> bool:
    """Return whether ``check`` is a list of commands: a suite's own tasks have ``checks``, a list of objects."""
    check = item.get("check")
    return not isinstance(check, list) or all(isinstance(one, str) for one in check)


REPO_TASK: Final = Format(name="repo_task", model=RepoTask, convert=_convert, fits=_fits)
