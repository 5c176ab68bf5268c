"""How long each project is kept, as the store says it. What nobody limited is kept for good."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from spanproof_collector.errors import CollectorError
from spanproof_collector.store import Query, Store

EVERY_OTHER: Final = ""
"""Stands for the projects that are not named."""


class RetentionError(CollectorError):
    """A time to keep things for that is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Days by project; ``None``: kept for good."""

    named: Mapping[str, int | None]

    def days(self, project: str) -> int | None:
        """Return for how many days a project is kept: by its own word, else by that for every other."""
        if project in self.named:
            return self.named[project]
        return self.named.get(EVERY_OTHER)

    @property
    def limited(self) -> bool:
        """Whether anything is ever deleted."""
        return any(days is not None for days in self.named.values())


def read_policies(store: Store) -> Policies:
    """Return what was set."""
    rows = cast("list[tuple[str, int | None]]", store.rows(Query.READ_RETENTION))
    return Policies(named=dict(rows))


def set_policy(store: Store, project: str, days: int | None) -> None:
    """Keep a project for so many days, or for good with ``None``. It deletes nothing by itself.

    Raises:
        RetentionError: less than one day.
    """
    if days is not None and days < 1:
        raise RetentionError(f"{days} days: a project is kept for one day at least. To delete, say spanproof delete")
    now = time.time_ns()
    store.insert("retention", {"project": [project], "days": [days], "set_at": [now]}, f"{project} {days} {now}")
