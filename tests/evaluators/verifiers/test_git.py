"""Repositories: what changed is counted, and nothing of theirs ever runs."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from spanproof_evaluators.verifiers import Check, EndState, GitCheck, Place, checked
from tests.evaluators.verifiers.asking import said


def git(root: Path, *arguments: str) -> str:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", "-C", str(root), *arguments], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    lines = "".join(f"line {number}\n" for number in range(20))
    write(root, {"src/a.py": lines, "src/b.py": "b\n", "tests/test_a.py": lines, ".gitignore": "build/\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


@pytest.fixture
def base(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


def asked(root: Path, **fields: object) -> list[Check]:
    spec = GitCheck.model_validate({"kind": "git", "destination": "repo", **fields})
    return checked(spec, None, EndState(places={"repo": Place(kind="git", location=str(root))}), Path())


def verdicts(root: Path, **fields: object) -> list[bool | None]:
    return [check.passed for check in asked(root, **fields)]


def fingerprint(root: Path) -> dict[str, str]:
    """Return every file below a folder by its hash."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_committed_uncommitted_and_untracked_work_is_counted_together(repo: Path, base: str) -> None:
    write(repo, {"src/b.py": "b\nc\n"})
    git(repo, "commit", "-qam", "more")
    write(repo, {"src/a.py": "rewritten\n"})
    git(repo, "add", "-A")
    write(repo, {"new.txt": "1\n2\n", "build/out.txt": "ignored\n"})
    before = fingerprint(repo)
    # b.py +1, a.py -20 +1, new.txt +2
    assert verdicts(repo, base=base, max_changed_files=3) == [True]
    assert verdicts(repo, base=base, max_changed_files=2) == [False]
    assert verdicts(repo, base=base, max_changed_lines=24) == [True]
    assert verdicts(repo, base=base, max_changed_lines=23) == [False]
    assert fingerprint(repo) == before


def test_where_files_change_is_limited(repo: Path, base: str) -> None:
    write(repo, {"src/new.py": "x\n"})
    assert verdicts(repo, base=base, allowed=["src/**"]) == [True]
    assert verdicts(repo, base=base, allowed=["docs/**"]) == [False]
    assert verdicts(repo, base=base, forbidden=["**/new.*"]) == [False]
    assert verdicts(repo, base=base, forbidden=["docs/**"]) == [True]
    assert verdicts(repo, base=base, changed=["src/new.py", "docs/**"]) == [True, False]
    assert verdicts(repo, base=base, tests_untouched=True) == [True]


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "tests/data.json", "src/conftest.py", "pkg/x_test.go", "web/a.spec.ts", "pytest.ini"]
)
def test_a_test_that_is_touched_is_seen_by_its_usual_name(repo: Path, base: str, path: str) -> None:
    write(repo, {path: "changed\n"})
    assert verdicts(repo, base=base, tests_untouched=True) == [False]
    assert verdicts(repo, base=base, tests_untouched=["other/**"]) == [True]


def test_a_test_that_is_moved_away_or_deleted_is_touched(repo: Path, base: str) -> None:
    (repo / "tests/test_a.py").rename(repo / "src/elsewhere.py")
    assert verdicts(repo, base=base, tests_untouched=True) == [False]
    assert verdicts(repo, base=base, max_changed_files=1) == [True]
    assert verdicts(repo, base=base, allowed=["src/**"]) == [False]
    (repo / "src/elsewhere.py").unlink()
    assert verdicts(repo, base=base, tests_untouched=True) == [False]


def test_binary_files_have_no_lines_and_a_limit_of_their_own(repo: Path, base: str) -> None:
    write(repo, {"logo.png": bytes(range(256)) * 10})
    (found,) = asked(repo, base=base, max_changed_lines=5)
    assert said(found) == (None, "binary_changed")
    assert verdicts(repo, base=base, max_changed_lines=5, max_binary_files=1) == [True, True]
    assert verdicts(repo, base=base, max_binary_files=0) == [False]
    write(repo, {"src/b.py": "1\n2\n3\n4\n5\n6\n"})
    assert verdicts(repo, base=base, max_changed_lines=5) == [False]


def test_names_that_git_would_quote_are_read_as_they_are(repo: Path, base: str) -> None:
    write(repo, {'src/ein "Äpfel"\t\n.py': "x\n"})
    assert verdicts(repo, base=base, allowed=["src/*"], changed=["src/ein *"]) == [True, True]


def test_head_branch_and_cleanliness(repo: Path, base: str) -> None:
    assert verdicts(repo, head=base, branch="main", clean=True) == [True, True, True]
    write(repo, {"build/ignored": "x"})
    assert verdicts(repo, clean=True) == [True]
    write(repo, {"untracked": "x"})
    assert verdicts(repo, head="0" * 40, branch="other", clean=True) == [False, False, False]
    assert verdicts(repo, clean=False) == [True]
    git(repo, "checkout", "-q", "--detach")
    assert verdicts(repo, branch="main") == [False]


def test_what_git_cannot_tell_is_a_gap(repo: Path, tmp_path: Path) -> None:
    (found,) = asked(repo, base="0" * 40, max_changed_files=9)
    assert said(found) == (None, "commit_missing")
    (found,) = asked(tmp_path / "none", clean=True)
    assert said(found) == (None, "folder_missing")
    (tmp_path / "plain").mkdir()
    (found,) = asked(tmp_path / "plain", clean=True)
    assert said(found) == (None, "not_a_repository")
    git(tmp_path / "plain", "init", "-q")
    (found,) = asked(tmp_path / "plain", clean=True)
    assert said(found) == (None, "commit_missing")


def test_a_damaged_repository_is_a_gap(repo: Path, base: str) -> None:
    for pack in (repo / ".git/objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o644)
            pack.write_bytes(b"")
    (found,) = asked(repo, base=base, max_changed_files=9)
    assert found.passed is None


@pytest.fixture
def trap(repo: Path, tmp_path: Path) -> Path:
    """Give a file that is there as soon as anything of the repository runs."""
    sprung = tmp_path / "sprung"
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {sprung}\ncat\n")
    program.chmod(0o755)
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"):
        (repo / ".git/hooks" / hook).write_bytes(program.read_bytes())
        (repo / ".git/hooks" / hook).chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "diff.external",
        "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.textconv", "diff.trap.command",
        "pager.diff",
    ):  # fmt: skip
        git(repo, "config", key, str(program))
    write(repo, {".gitattributes": "* filter=trap diff=trap\n"})
    return sprung


def test_nothing_of_the_repository_runs(repo: Path, base: str, trap: Path) -> None:
    write(repo, {"src/a.py": "changed\n"})
    found = verdicts(repo, base=base, max_changed_files=2, max_changed_lines=40, clean=False, branch="main")
    assert found == [True, True, True, True]
    assert not trap.exists()


def test_the_trap_is_one(repo: Path, trap: Path) -> None:
    write(repo, {"src/a.py": "changed\n"})
    subprocess.run(["git", "-C", str(repo), "diff"], capture_output=True, check=False)
    assert trap.exists()


def test_a_linked_work_tree_is_seen(repo: Path, base: str, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", {"src/new.py": "x\n"})
    assert verdicts(tmp_path / "side", base=base, max_changed_files=0) == [False]
    assert verdicts(tmp_path / "side", base=base, changed=["src/new.py"], branch="side") == [True, True]
    assert verdicts(repo, base=base, max_changed_files=0) == [True]


def test_a_folder_within_a_repository_is_none_and_is_not_judged_by_what_is_around_it(repo: Path, base: str) -> None:
    (found,) = asked(repo / "src", base=base, max_changed_files=9)
    assert said(found) == (None, "not_a_repository")


def test_a_repository_that_points_its_work_tree_elsewhere_is_not_followed(
    repo: Path, base: str, tmp_path: Path
) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "clean"))
    write(repo, {"tests/test_a.py": "weakened\n"})
    git(repo, "config", "core.worktree", str(tmp_path / "clean"))
    (found,) = asked(repo, base=base, tests_untouched=True)
    assert found.passed is not True


def test_what_lies_in_a_repository_within_is_not_overlooked(repo: Path, base: str) -> None:
    write(repo, {"src/inner/hidden.py": "x\n"})
    git(repo / "src/inner", "init", "-q")
    (found,) = asked(repo, base=base, max_changed_files=9)
    assert found.passed is None
    git(repo / "src/inner", "add", "-A")
    git(repo / "src/inner", "commit", "-qm", "hide")
    (found,) = asked(repo, base=base, forbidden=["src/inner/**"])
    assert said(found) == (None, "nested_repository")


def test_a_replaced_commit_does_not_hide_a_change(repo: Path, base: str) -> None:
    write(repo, {"tests/test_a.py": "weakened\n"})
    git(repo, "commit", "-qam", "weaken")
    git(repo, "replace", base, "HEAD")
    assert verdicts(repo, base=base, tests_untouched=True) == [False]
