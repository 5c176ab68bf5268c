"""Verifier files: checks that are attached to stored trials by filter, and the places they look at.

    id: shop
    destinations:
      orders: {sql: "postgresql://reader:${DB_PASSWORD}@db/shop"}
      work:   {folder: "worlds/{trial_id}", before: "snapshots/{trial_id}"}
    verifiers:
      - id: refunded
        where: {task: refund-1001, since: 2026-01-31}
        checks:
          - {kind: sql, destination: orders, query: "select status from refunds where order_id = :id",
             params: {id: "{label.order}"}, rows: [{status: done}]}
          - {kind: files, destination: work, glob: "outbox/*.eml", contains: ["{label.order}"]}

An unknown key is refused: a misspelled condition would otherwise be no condition.
"""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from spanproof_evaluators.errors import VerifierFileError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.checks import AnyCheck, CheckSpec
from spanproof_evaluators.model.destinations import Destination
from spanproof_evaluators.model.documents import parse_document, read_document
from spanproof_evaluators.model.written import Texts, Written


class Where(Written):
    """Which trials: the words of the command line's filter. Values of one word are or-ed, words are and-ed."""

    since: str | int | None = None
    until: str | int | None = None
    project: str | Texts = ()
    session: str | Texts = ()
    trial: str | Texts = ()
    task: str | Texts = ()
    suite: str | Texts = ()
    source: str | Texts = ()
    variant: str | Texts = ()
    agent: str | Texts = ()
    model: str | Texts = ()
    tool: str | Texts = ()
    text: str | Texts = ()
    label: dict[str, str] = Field(default={})


class Attached(Written):
    """Checks, and the trials that they are attached to."""

    id: str = Field(min_length=1)
    where: Where = Where()
    expects: Literal["change", "no_change"] = "change"
    pass_score: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    checks: tuple[AnyCheck, ...] = Field(strict=False, min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        sound(self.checks, self.expects, self.pass_score)
        return self


class VerifierFile(Written):
    """Destinations, and verifiers that look at them."""

    id: str = Field(min_length=1)
    destinations: dict[str, Destination] = Field(default={})
    verifiers: tuple[Attached, ...] = Field(strict=False, min_length=1)

    @model_validator(mode="after")
    def _named(self) -> Self:
        seen: set[str] = set()
        for one in self.verifiers:
            if one.id in seen:
                raise ValueError(f"two verifiers are called {one.id!r}")
            seen.add(one.id)
            places_named(one.checks, self.destinations, f"verifier {one.id!r}")
        return self

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex: layout, key order and defaults that are spelled out do not matter."""
        return digest(self.model_dump(mode="python", exclude_defaults=True))


def sound(checks: tuple[CheckSpec, ...], expects: Literal["change", "no_change"], pass_score: float | None) -> None:
    """Refuse checks that an idle agent passes, or that decide nothing.

    Raises:
        ValueError: they do.
    """
    if not checks:
        return
    kept = any(check.still for check in checks) and any(check.positive and check.required for check in checks)
    if expects == "no_change" and not kept:
        raise ValueError(
            "a task that expects no change needs an unchanged check and a required positive one (an answer that "
            "contains something, rows or files): else an agent that does nothing passes"
        )
    if pass_score is None and not any(check.required for check in checks):
        raise ValueError("no check is required and there is no pass_score: nothing decides")


def places_named(checks: tuple[CheckSpec, ...], destinations: Collection[str], who: str) -> None:
    """Refuse checks that look where nothing is named.

    Raises:
        ValueError: they do.
    """
    for check in checks:
        for name in sorted(check.destinations):
            if name not in destinations:
                known = ", ".join(sorted(destinations)) or "none is named"
                raise ValueError(f"{who} looks at destination {name!r}, which is not named. Known: {known}")


def read_verifier_file(path: Path) -> VerifierFile:
    """Return the verifiers that a YAML or JSON file holds.

    Raises:
        VerifierFileError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    return read_document(VerifierFile, path, VerifierFileError)


def parse_verifier_file(text: str, *, name: str) -> VerifierFile:
    """Return the verifiers that a JSON text holds; ``name`` is what errors call it.

    Raises:
        VerifierFileError: the text is no JSON, or a key is unknown, missing or wrong.
    """
    return parse_document(VerifierFile, text, name, VerifierFileError)
