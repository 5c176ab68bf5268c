"""The tool catalogue as a file: YAML, of which JSON is a part. What is not understood is refused, never passed over."""

import re
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Final

import msgspec
import yaml

from spanproof_collector.errors import CatalogueError
from spanproof_collector.model.tool_catalogue import CatalogueTool, ToolCatalogue

_WHERE: Final = re.compile(r"^(?P<why>.*?)(?: - at `\$\.?(?P<where>[^`]*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_KNOWN: Final = {
    "": "version, tools",
    "tools[]": "name, class, confirmed, destination, resource, operation, idempotency_key, lookups",
    "tools[].lookups[]": "tool, match, shows",
}
"""The keys of each level."""


def read_catalogue(path: Path) -> ToolCatalogue:
    """Return the catalogue that a file holds.

    Raises:
        CatalogueError: it cannot be read, is no YAML, or something in it is unknown, missing, wrong or said twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CatalogueError(
            str(path), "", "there is no such file. 'spanproof effects classify --out FILE' proposes one"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(str(path), "", f"cannot be read: {error}") from error
    return parse_catalogue(text, name=str(path))


def parse_catalogue(text: str, *, name: str) -> ToolCatalogue:
    """Return the catalogue that a text holds; ``name`` is what errors call it. An empty text is an empty catalogue.

    Raises:
        CatalogueError: as ``read_catalogue``.
    """
    try:
        told = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise CatalogueError(name, where, f"no YAML: {problem}") from error
    try:
        catalogue = msgspec.convert({} if told is None else told, ToolCatalogue)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _explained(name, str(error)) from error
    for number, tool in enumerate(catalogue.tools):
        _check(tool, name, f"tools[{number}] ({tool.name})")
    twice = [tool for tool, count in Counter(tool.name for tool in catalogue.tools).items() if count > 1]
    if twice:
        raise CatalogueError(name, "tools", f"{twice[0]!r} stands there twice. Keep one of them")
    return catalogue


def _check(tool: CatalogueTool, name: str, where: str) -> None:
    if not tool.name.strip():
        raise CatalogueError(name, where, "the name is empty. Give the tool's name, or a pattern such as 'get_*'")
    says = tool.destination or tool.resource or tool.operation or tool.idempotency_key or tool.lookups
    if tool.confirmed and tool.effect_class is None and not says:
        raise CatalogueError(
            name, where, "says nothing. Fill in class: read, write, destructive or handoff; or set confirmed: false"
        )
    for number, lookup in enumerate(tool.lookups):
        if not lookup.match:
            raise CatalogueError(
                name,
                f"{where}.lookups[{number}].match",
                "is empty. Say which argument of the read is which of the write, such as {order_id: order_id}: else "
                "any answer would do",
            )


def _explained(name: str, said: str) -> CatalogueError:
    found = _WHERE.match(said)
    why, where = (found["why"], found["where"] or "") if found is not None else (said, "")
    unknown = _UNKNOWN.search(why)
    if unknown is not None:
        known = _KNOWN.get(re.sub(r"\[(\d+|\.\.\.)\]", "[]", where))
        keys = f": the keys here are {known}" if known else ""
        return CatalogueError(name, where, f"unknown key {unknown[1]!r}. Remove it, or spell it right{keys}")
    return CatalogueError(name, where, why)


class _Loader(yaml.SafeLoader):
    """YAML as ``safe_load`` reads it, but that a key that stands twice is refused: one of them would be lost."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, object]:
    seen: set[str] = set()
    for key, _ in node.value:
        spelled = str(key.value)
        if spelled in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {spelled!r} stands twice", key.start_mark)
        seen.add(spelled)
    loader.flatten_mapping(node)
    return dict(loader.construct_mapping(node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
