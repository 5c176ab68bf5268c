"""Reads JSON files value by value, in the memory of one value: a document, an array or mapping of them, or JSON lines.

A value that is broken is named, and the next is still found.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from spanproof_collector.importers._files import NotJsonError, ReadableFile, parse
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._json_reader import BrokenError, CutError, JsonReader, RawValue, pairs
from spanproof_collector.importers._session import Session
from spanproof_collector.model.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One value of a file."""

    value: Json
    line: int
    """The line on which it begins, counted from 1."""

    key: str | None = None
    """Its name, where it is a member of a mapping of documents."""

    member: str | None = None
    """The name of the list or mapping that it is in, where that is a member of a top-level object."""

    outer: dict[str, Json] = field(default_factory=dict)
    """What stands beside the list that it is in, as far as it was read before."""


Read: TypeAlias = Document | Damage


def documents(file: ReadableFile, inside: Collection[str] = (), *, mapping: bool = False) -> Iterator[Read]:
    """Yield the documents of a file: each top-level value, or the elements of one that is an array.

    Args:
        file: plain or gzip.
        inside: of a top-level object, the members whose elements are the documents.
        mapping: a top-level object maps names to documents.
    """
    reader = JsonReader(file)
    while reader.peek():
        line = reader.line
        try:
            if reader.peek() == b"[":
                yield from _elements(reader, {})
            elif reader.peek() == b"{" and (inside or mapping):
                yield from _members(reader, frozenset(inside), mapping=mapping)
            else:
                yield _document(reader.raw())
        except CutError:
            yield Damage(reason="the file ends inside this value", line=line)
        except BrokenError as error:
            yield Damage(reason=f"no JSON: {error}", line=reader.line)
        else:
            continue
        if not reader.next_start():
            return


def _document(
    raw: RawValue, key: str | None = None, outer: dict[str, Json] | None = None, member: str | None = None
) -> Read:
    try:
        value = parse(raw.data)
    except NotJsonError as error:
        return Damage(reason=str(error), line=raw.line)
    return Document(value=value, line=raw.line, key=key, member=member, outer=outer or {})


def _elements(reader: JsonReader, outer: dict[str, Json], member: str | None = None) -> Iterator[Read]:
    reader.skip(b"[")
    while reader.peek() != b"]":
        yield _document(reader.raw(), outer=dict(outer), member=member)
        if reader.peek() != b"]":
            reader.skip(b",")
    reader.skip(b"]")


def _members(reader: JsonReader, inside: frozenset[str], *, mapping: bool) -> Iterator[Read]:
    line = reader.line
    outer: dict[str, Json] = {}
    found = False
    for name in pairs(reader):
        if mapping:
            yield _document(reader.raw(), key=name)
        elif name in inside and reader.peek() == b"[":
            found = True
            yield from _elements(reader, outer, name)
        elif name in inside and reader.peek() == b"{":
            found = True
            for key in pairs(reader):
                yield _document(reader.raw(), key=key, outer=dict(outer), member=name)
        else:
            raw = reader.raw()
            read = _document(raw)
            if isinstance(read, Damage):
                yield read
            else:
                outer[name] = read.value
    if not found and not mapping:
        yield Document(value=dict(outer), line=line)


def sessions(
    file: ReadableFile,
    of: Callable[[Document], Iterable[Session | Damage]],
    inside: Collection[str] = (),
    *,
    mapping: bool = False,
) -> Iterator[Session | Damage]:
    """Yield the sessions of each document of a file, and what of the file is damaged. Arguments as of ``documents``."""
    for read in documents(file, inside, mapping=mapping):
        if isinstance(read, Damage):
            yield read
        else:
            yield from of(read)
    if file.damage is not None:
        yield Damage(reason=file.damage)
