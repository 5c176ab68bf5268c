"""The files of a state: recorded texts, or a folder, read without following a link."""

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.verifiers._kind import GapError, place

MOST_FILES: Final = 100_000
MOST_BYTES: Final = 64_000_000
"""Larger files are not read; their size is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Regular files by path, and links by path with what they point to. A link is no file, and nobody follows it."""

    sizes: Mapping[str, int]
    links: Mapping[str, str]
    source: "Source"

    def content(self, path: str) -> bytes:
        """Return what a file holds.

        Raises:
            GapError: it cannot be read, or is too large.
        """
        if self.sizes[path] > MOST_BYTES:
            raise GapError("file_too_large", f"{path} has {self.sizes[path]:,} bytes, more than {MOST_BYTES:,}")
        return self.source.read(path)

    def fingerprint(self, path: str) -> str:
        """Return what differs where a path's file differs.

        Raises:
            GapError: it cannot be read, or is too large.
        """
        if path in self.links:
            return f"link to {self.links[path]}"
        return hashlib.sha256(self.content(path)).hexdigest() if path in self.sizes else ""


class Source(Protocol):
    """Reads a file that was seen."""

    def read(self, path: str) -> bytes:
        """Return what it holds."""


@dataclass(frozen=True)
class _Recorded:
    texts: Mapping[str, str]

    def read(self, path: str) -> bytes:
        return self.texts[path].encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class _Folder:
    root: Path

    @cached_property
    def _opened(self) -> str:
        return os.path.realpath(self.root)

    def read(self, path: str) -> bytes:
        """Return what a file holds; one that became a link meanwhile is not followed, in no part of its path."""
        try:
            folder = os.open(self._opened, os.O_RDONLY | os.O_DIRECTORY)
            try:
                *parents, name = path.split("/")
                for parent in parents:
                    inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            finally:
                os.close(folder)
            with os.fdopen(file, "rb") as opened:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise GapError("file_unreadable", f"{path} is no regular file any more")
                content = opened.read(MOST_BYTES + 1)
        except OSError as error:
            raise GapError("file_unreadable", f"{path}: {error.strerror}") from error
        if len(content) > MOST_BYTES:
            raise GapError("file_too_large", f"{path} grew over {MOST_BYTES:,} bytes")
        return content


def files_of(state: EndState, destination: str | None) -> Files:
    """Return the files of a state: of a folder, or those that were recorded.

    Raises:
        GapError: there is no such folder, it cannot be read, or nobody recorded files.
    """
    if destination is None:
        if state.files is None:
            raise GapError(state.missing or "files_not_recorded", "the snapshot holds no files")
        sizes = {path: len(text.encode("utf-8", "surrogatepass")) for path, text in state.files.items()}
        return Files(sizes=sizes, links={}, source=_Recorded(state.files))
    found = place(state, destination, "folder", "git")
    return folder(Path(found.location))


def folder(root: Path) -> Files:
    """Return the files under a folder; ``.git`` is left out.

    Raises:
        GapError: there is no such folder, or it cannot be read.
    """
    if not root.is_dir():
        raise GapError("folder_missing", f"there is no folder {root}")
    sizes: dict[str, int] = {}
    links: dict[str, str] = {}
    left = [""]
    try:
        while left:
            at = left.pop()
            with os.scandir(root / at) as entries:
                for entry in entries:
                    path = f"{at}{entry.name}"
                    if entry.is_symlink():
                        links[path] = str(Path(entry.path).readlink())
                    elif entry.is_dir(follow_symlinks=False):
                        if path != ".git":
                            left.append(f"{path}/")
                    elif entry.is_file(follow_symlinks=False):
                        sizes[path] = entry.stat(follow_symlinks=False).st_size
                    if len(sizes) + len(links) > MOST_FILES:
                        raise GapError("folder_too_large", f"{root} holds more than {MOST_FILES:,} files")
    except OSError as error:
        raise GapError("folder_unreadable", f"{error.filename}: {error.strerror}") from error
    return Files(sizes=sizes, links=links, source=_Folder(root))
