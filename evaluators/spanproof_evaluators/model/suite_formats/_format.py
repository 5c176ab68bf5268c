"""What a format of tasks is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.written import Written

Item = Mapping[str, Plain]
"""A task as it stands in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A task in the shape of a suite's own, and the places that its checks look at beside its world."""

    task: dict[str, Plain]
    destinations: dict[str, Plain]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A way of writing a task."""

    name: str
    model: type[Written]
    """Its keys. An unknown one is refused."""

    convert: Callable[[Written, Path | None], Converted]
    """Given a task and the folder of its file (``None``: it has none)."""

    fits: Callable[[Item], bool] = lambda item: True
    """Whether a task whose keys fit is one by its values, too."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys at the top of a task."""
        return frozenset(self.model.model_fields)
