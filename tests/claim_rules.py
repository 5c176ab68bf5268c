"""How often each pattern of the claim rules fires, on labeled messages and on what agents said in recorded sessions.

Run it to see the table: ``python -m tests.claim_rules``. With the directory of AgentDojo's published runs
(``runs`` in the source distribution of 0.1.20) it counts in their final messages instead of in the recorded sessions.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from spanproof_collector.trials.claims.clauses import every_clause_of
from spanproof_collector.trials.claims.patterns import GROUPS
from tests.shared import GOLDEN, SESSIONS


class Labeled(NamedTuple):
    """A message of the golden dev set."""

    model: str
    text: str
    label: str


class Fires(NamedTuple):
    """In how many messages a pattern fires."""

    group: str
    name: str
    labeled: int
    sessions: int


PUBLISHED: Final = {
    ("courtesy", "any_you_like"): 13,
    ("courtesy", "if_so"): 12,
    ("not_done", "not_at_ease"): 8,
    ("not_done", "still_need"): 16,
    ("grounds", "wrong"): 108,
    ("grounds", "no_consent"): 26,
    ("turns", "focus"): 75,
    ("turns", "regarding"): 30,
    ("advice", "about_itself"): 136,
}
"""Final messages of AgentDojo's published runs, each once, that these patterns fire on.

They read refusals of planted instructions, which neither the golden set nor the recorded sessions hold.
"""


def golden() -> list[Labeled]:
    """Return the 160 final messages that were labeled by hand: C claimed, P partial, N no claim."""
    told = json.loads((GOLDEN / "G22_claim_detection_dev.json").read_text())["inputs"]["labelled"]
    return [Labeled(item["run"].partition("/")[0], item["final"] or "", item["label"]) for item in told]


def spoken() -> list[str]:
    """Return what agents said in the recorded sessions, each message once."""
    found: dict[str, None] = {}
    for path in sorted((SESSIONS / "dev" / "sessions").rglob("*.json")):
        found.update(dict.fromkeys(_said(path)))
    return list(found)


def published(runs: Path) -> list[str]:
    """Return the final messages of AgentDojo's published runs, each once."""
    found: dict[str, None] = {}
    for path in sorted(runs.rglob("*.json")):
        last = (json.loads(path.read_text())["messages"] or [{}])[-1]
        if last.get("role") == "assistant" and not last.get("tool_calls") and isinstance(last.get("content"), str):
            found[last["content"]] = None
    return list(found)


def _said(path: Path) -> Iterator[str]:
    left: list[object] = [json.loads(path.read_text())]
    while left:
        match left.pop():
            case {"content": str(words), **rest} if rest.get("role") not in ("user", "system", "tool", "human"):
                yield words
            case dict(members):
                left.extend(members.values())
            case list(items):
                left.extend(items)
            case _:
                pass


def count(labeled: Iterable[str], sessions: Iterable[str]) -> list[Fires]:
    """Return in how many of the messages each pattern fires."""
    sides = ([every_clause_of(text) for text in labeled], [every_clause_of(text) for text in sessions])
    found = []
    for group, patterns in GROUPS.items():
        for name, pattern in patterns.items():
            fits = re.compile(pattern)
            hits = [sum(any(fits.search(clause) for clause in message) for message in side) for side in sides]
            found.append(Fires(group, name, *hits))
    return found


if __name__ == "__main__":
    elsewhere = published(Path(sys.argv[1])) if sys.argv[1:] else spoken()
    for fires in count([item.text for item in golden()], elsewhere):
        print(f"{fires.group:<12} {fires.name:<16} {fires.labeled:>5} labeled {fires.sessions:>6} elsewhere")
