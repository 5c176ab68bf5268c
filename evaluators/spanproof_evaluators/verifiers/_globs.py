"""Paths by pattern: ``*`` stays inside a folder, ``**`` does not."""

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    """Return the pattern as a regular expression."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif glob[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            parts.append("[^/]")
            at += 1
        else:
            parts.append(re.escape(glob[at]))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def matches(path: str, glob: str) -> bool:
    """Return whether the whole path fits the pattern, case and all."""
    return _compiled(glob).fullmatch(path) is not None
