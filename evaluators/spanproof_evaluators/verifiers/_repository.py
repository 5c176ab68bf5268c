"""A git repository, looked at without running anything of it.

Whatever a repository could make git run stands in its configuration: hooks, filters, external diffs, file watchers. So
git works with a repository of its own, made for the purpose: its objects are borrowed, its configuration and its hooks
are not. The work tree is read into it, tracked and untracked files, less what ``.gitignore`` leaves out; the
repository that is looked at is not written to.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanproof_evaluators.verifiers._kind import GapError, tail
from spanproof_evaluators.verifiers._process import Ran, clean_environment, run

_MOST_OUTPUT: Final = 64_000_000
_QUIET: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.untrackedCache=false",
    "-c", "core.quotePath=false",
    "-c", "protocol.allow=never",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "diff.renameLimit=2000",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that differs. Lines are ``None`` in a binary file."""

    path: str
    old: str | None
    """Its former path, where it was renamed."""

    added: int | None
    removed: int | None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that it touches."""
        return (self.path,) if self.old is None else (self.old, self.path)

    @property
    def lines(self) -> int:
        """How many lines were added and removed."""
        return (self.added or 0) + (self.removed or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A work tree, seen through a repository of our own."""

    root: Path
    own: Path
    env: Mapping[str, str]
    seconds: float
    head: str | None
    """The commit that is checked out; ``None`` before the first one."""

    branch: str | None
    """``None`` where no branch is checked out."""

    def commit(self, revision: str) -> str:
        """Return the full hash of a commit.

        Raises:
            GapError: the repository has no such commit.
        """
        ran = _git(["-C", str(self.root), *_QUIET, "rev-parse", "--verify", "--quiet", "--end-of-options",
                    f"{revision}^{{commit}}"], self.root, self.env, self.seconds)  # fmt: skip
        found = ran.out.decode("ascii", "replace").strip()
        if ran.code != 0 or not found:
            raise GapError("commit_missing", f"the repository has no commit {revision}")
        return found

    def changes(self, base: str) -> list[Change]:
        """Return what differs between a commit and the work tree, untracked files included.

        Raises:
            GapError: git could not tell.
        """
        self._own("read-tree", base)
        self._own("add", "--all", "--", ".")
        raw = self._own("diff", "--cached", "--raw", "-z", "--no-renames", "--no-ext-diff", base, "--").split(b"\0")
        for about, path in zip(raw[::2], raw[1::2], strict=False):
            if any(mode.endswith(b"160000") for mode in about.split()[:2]):
                raise GapError("nested_repository", f"{path.decode('utf-8', 'replace')} is a repository of its own")
        out = self._own("diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "--numstat", "-z",
                        base, "--")  # fmt: skip
        return _numstat(out.decode("utf-8", "surrogateescape"))

    def _own(self, *command: str) -> bytes:
        argv = [f"--git-dir={self.own}", f"--work-tree={self.root}", *_QUIET, *command]
        ran = _git(argv, self.root, self.env, self.seconds)
        if ran.code != 0:
            raise GapError("git_failed", f"git {command[0]} ended with {ran.code}\n{tail(ran.said)}")
        return ran.out


@contextmanager
def repository(root: Path, seconds: float) -> Iterator[Repository]:
    """Give a repository to look at.

    Raises:
        GapError: there is none, or git is missing.
    """
    if not root.is_dir():
        raise GapError("folder_missing", f"there is no folder {root}")
    with tempfile.TemporaryDirectory(prefix="spanproof-verifier-") as temporary:
        home = Path(temporary)
        config = home / "config"
        config.write_text("[safe]\n\tdirectory = *\n", encoding="ascii")
        env = clean_environment(home) | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_CEILING_DIRECTORIES": str(root.parent),
        }

        def ask(*command: str) -> Ran:
            return _git(["-C", str(root), *_QUIET, *command], root, env, seconds)

        asked = ask("rev-parse", "--is-inside-work-tree", "--show-object-format", "--path-format=absolute",
                    "--git-common-dir")  # fmt: skip
        told = asked.out.decode("utf-8", "surrogateescape").splitlines()
        if asked.code != 0 or len(told) != 3 or told[0] != "true":
            raise GapError("not_a_repository", f"{root} is no work tree of git\n{tail(asked.said)}".strip())
        _, algorithm, common = told
        head = ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        branch = ask("symbolic-ref", "--quiet", "--short", "HEAD")
        own = home / "own"
        made = _git(["init", "--quiet", "--bare", "--template=", f"--object-format={algorithm}", str(own)], home, env,
                    seconds)  # fmt: skip
        if made.code != 0:
            raise GapError("git_failed", tail(made.said))
        info = own / "objects" / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "alternates").write_text(f"{common}/objects\n", encoding="utf-8", errors="surrogateescape")
        yield Repository(
            root=root,
            own=own,
            env=env,
            seconds=seconds,
            head=head.out.decode("ascii").strip() or None if head.code == 0 else None,
            branch=branch.out.decode("utf-8", "replace").strip() or None if branch.code == 0 else None,
        )


def _git(arguments: list[str], folder: Path, env: Mapping[str, str], seconds: float) -> Ran:
    try:
        return run(["git", *arguments], folder=folder, env=env, timeout=seconds, max_output=_MOST_OUTPUT)
    except GapError as error:
        if error.reason == "command_not_found":
            raise GapError("git_not_installed", "there is no git") from error
        raise


def _numstat(text: str) -> list[Change]:
    """Return the changes that ``git diff --numstat -z`` lists."""
    fields = iter(text.split("\0"))
    found: list[Change] = []
    for field in fields:
        if not field:
            continue
        added, removed, path = field.split("\t", 2)
        old = None
        if not path:
            old, path = next(fields), next(fields)
        found.append(
            Change(
                path=path,
                old=old,
                added=None if added == "-" else int(added),
                removed=None if removed == "-" else int(removed),
            )
        )
    return found
