"""What changed in a git repository."""

from typing import Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec
from spanproof_evaluators.model.written import Texts

TESTS = (
    "**/test_*.py",
    "**/*_test.py",
    "**/conftest.py",
    "**/tests/**",
    "**/test/**",
    "**/__tests__/**",
    "**/spec/**",
    "**/*_test.go",
    "**/*.test.*",
    "**/*.spec.*",
    "**/*Test.java",
    "**/*Tests.cs",
    "**/pytest.ini",
    "**/tox.ini",
    "**/noxfile.py",
    "**/jest.config.*",
    "**/vitest.config.*",
)
"""What tests are called in common languages, and the files that say which tests run."""


class GitCheck(CheckSpec):
    """Limits of a change against a commit: committed, uncommitted and untracked work together, less what is ignored."""

    kind: Literal["git"]
    destination: str
    base: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_{}][A-Za-z0-9_./@^~{}-]*$")
    """The commit that the work began at; best its full hash, since an agent can move a branch."""

    max_changed_files: int | None = Field(default=None, ge=0)
    max_changed_lines: int | None = Field(default=None, ge=0)
    """Lines of text added and removed."""

    max_binary_files: int | None = Field(default=None, ge=0)
    """Binary files have no lines: this is their limit."""

    allowed: tuple[str, ...] | None = Field(default=None, strict=False)
    """Patterns: only files that fit one of them change."""

    forbidden: tuple[str, ...] = Field(default=(), strict=False)
    """Patterns: no file that fits one of them changes."""

    tests_untouched: bool | Texts = False
    """``true``: by the usual names of tests, or patterns."""

    changed: tuple[str, ...] = Field(default=(), strict=False)
    """Patterns: for each of them some file changes."""

    head: str | None = None
    """The full hash of the commit that is checked out."""

    branch: str | None = None
    clean: bool | None = None
    """``true``: nothing is uncommitted or untracked."""

    timeout: float = Field(default=60.0, gt=0, le=3600, allow_inf_nan=False)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.compares and (self.head, self.branch, self.clean) == (None, None, None):
            raise ValueError("say what may change, or what head, branch or clean is to be")
        if self.compares and self.base is None:
            raise ValueError("name the base: the commit that the work began at")
        return self

    @property
    def compares(self) -> bool:
        """Whether the work is compared with a commit."""
        limits = (self.max_changed_files, self.max_changed_lines, self.max_binary_files, self.allowed)
        return any(one is not None for one in limits) or bool(self.forbidden or self.tests_untouched or self.changed)

    @property
    def positive(self) -> bool:
        """Whether something has to change."""
        return bool(self.changed)

    @property
    def still(self) -> bool:
        """Whether nothing may change."""
        return self.max_changed_files == 0

    @property
    def destinations(self) -> frozenset[str]:
        """The repository."""
        return frozenset({self.destination})
