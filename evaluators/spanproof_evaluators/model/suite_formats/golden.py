"""Questions with expected texts, a trajectory and a number of runs, one JSON object a line or a list of them.

    {"id": "Z1", "kategoria": "synteza", "pytanie": "…",
     "oczekiwane": {"zawiera": ["…"], "nie_zawiera": ["…"], "wymaga_cytatu": true, "zrodlo": "faktury/f017.txt"},
     "trajektoria": {"max_krokow": 4, "wymagane_narzedzia": ["…"], "zakazane_narzedzia": ["…"]}, "przebiegow": 3}

The same with English keys: category, question, expected {contains, not_contains, citation_required, source},
trajectory {max_steps, required_tools, forbidden_tools}, runs. Steps are calls of tools (R096): too many of them spoil a
trajectory and fail no task. Without a number of runs there is one (R110).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.suite_formats._format import Converted, Format
from spanproof_evaluators.model.written import Texts, Written

SOURCES: Final = "sources"
"""The destination of the files that are quoted from."""

_UP: Final = 3
"""How many folders above the suite's file a source is looked for in: sets lie beside the data, not in it."""


class _Oczekiwane(Written):
    zawiera: Texts = ()
    nie_zawiera: Texts = ()
    wymaga_cytatu: bool = False
    zrodlo: str | None = Field(default=None, min_length=1)


class _Trajektoria(Written):
    max_krokow: int | None = Field(default=None, ge=0)
    wymagane_narzedzia: Texts = ()
    zakazane_narzedzia: Texts = ()


class Pozycja(Written):
    """An item by its Polish keys."""

    id: str = Field(min_length=1)
    kategoria: str = Field(min_length=1)
    pytanie: str = Field(min_length=1)
    oczekiwane: _Oczekiwane
    trajektoria: _Trajektoria = _Trajektoria()
    przebiegow: int = Field(default=1, ge=1)


class _Expected(Written):
    contains: Texts = ()
    not_contains: Texts = ()
    citation_required: bool = False
    source: str | None = Field(default=None, min_length=1)


class _Trajectory(Written):
    max_steps: int | None = Field(default=None, ge=0)
    required_tools: Texts = ()
    forbidden_tools: Texts = ()


class GoldenItem(Written):
    """An item by its English keys."""

    id: str = Field(min_length=1)
    category: str = Field(min_length=1)
    question: str = Field(min_length=1)
    expected: _Expected
    trajectory: _Trajectory = _Trajectory()
    runs: int = Field(default=1, ge=1)


def _polish(found: Written, base: Path | None) -> Converted:
    assert isinstance(found, Pozycja)
    texts, course = found.oczekiwane, found.trajektoria
    return _converted(
        GoldenItem(
            id=found.id,
            category=found.kategoria,
            question=found.pytanie,
            expected=_Expected(
                contains=texts.zawiera,
                not_contains=texts.nie_zawiera,
                citation_required=texts.wymaga_cytatu,
                source=texts.zrodlo,
            ),
            trajectory=_Trajectory(
                max_steps=course.max_krokow,
                required_tools=course.wymagane_narzedzia,
                forbidden_tools=course.zakazane_narzedzia,
            ),
            runs=found.przebiegow,
        ),
        base,
        ("wymaga_cytatu", "zrodlo"),
    )


def _english(found: Written, base: Path | None) -> Converted:
    assert isinstance(found, GoldenItem)
    return _converted(found, base, ("citation_required", "source"))


def _converted(found: GoldenItem, base: Path | None, names: Sequence[str]) -> Converted:
    """Return an item as a task.

    Raises:
        ValueError: a citation is asked for, and no source is named.
    """
    texts, course = found.expected, found.trajectory
    check: dict[str, Plain] = {}
    if texts.contains:
        check["contains"] = list(texts.contains)
    if texts.not_contains:
        check["not_contains"] = list(texts.not_contains)
    destinations: dict[str, Plain] = {}
    if texts.citation_required:
        if texts.source is None:
            raise ValueError(f"{names[0]} is true and no {names[1]} is named: say what is to be quoted")
        quote: dict[str, Plain] = {"source": texts.source}
        folder = _folder_of(texts.source, base)
        if folder is not None:
            quote["destination"] = SOURCES
            destinations[SOURCES] = {"folder": folder, "before": folder}
        check["quote"] = quote
    task: dict[str, Plain] = {
        "id": found.id,
        "category": found.category,
        "prompt": found.question,
        "runs": found.runs,
        "required_tools": list(course.required_tools),
        "forbidden_tools": list(course.forbidden_tools),
        "checks": [{"kind": "answer", **check}] if check else [],
    }
    if course.max_steps is not None:
        task["expected_calls"] = course.max_steps
    if texts.source is not None and (text := _text_of(texts.source, base)) is not None:
        task["source"] = text
    return Converted(task=task, destinations=destinations)


def _folder_of(source: str, base: Path | None) -> str | None:
    """Return the folder that a source lies in, by its path: the suite's own or one of those above; ``None``: none."""
    if base is None:
        return None
    for up in range(_UP + 1):
        folder = "/".join([".."] * up) or "."
        if (base / folder / source).is_file():
            return folder
    return None


def _text_of(source: str, base: Path | None) -> str | None:
    folder = _folder_of(source, base)
    if folder is None or base is None:
        return None
    try:
        return (base / folder / source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


POLISH: Final = Format(name="golden_pl", model=Pozycja, convert=_polish)
ENGLISH: Final = Format(name="golden_en", model=GoldenItem, convert=_english)
