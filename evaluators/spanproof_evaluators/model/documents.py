"""Documents that people write in YAML or JSON, and what is wrong with one in one line."""

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from re import compile as pattern
from typing import Final, TypeVar, get_args

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from spanproof_evaluators.errors import DocumentError
from spanproof_evaluators.model.checks import BUILT_IN, OTHER

SUFFIXES: Final = (".json", ".yaml", ".yml")
LINES: Final = (".jsonl", ".ndjson")
"""JSON, one value a line."""

ModelT = TypeVar("ModelT", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """YAML with the scalars of JSON: ``no``, ``1:30``, ``2026-01-31`` are text. A key that comes twice is an error."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, object]]] = {}  # noqa: RUF012  # PyYAML's own way

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """Return a mapping, each key once."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} comes twice", key.start_mark)
                seen.add(key.value)
        return dict(super().construct_mapping(node, deep=deep))


for _tag, _text, _first in (
    ("bool", r"^(?:true|false)$", "tf"),
    ("null", r"^(?:~|null|)$", "~n\0"),
    ("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789"),
    ("float", r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$", "-0123456789"),
    ("merge", r"^(?:<<)$", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", pattern(_text), ["" if c == "\0" else c for c in _first])


def read_document(model: type[ModelT], path: Path, error: type[DocumentError]) -> ModelT:
    """Return what a file holds: YAML where its name ends so, else JSON.

    Raises:
        DocumentError: of the given type: it cannot be read, or a key is unknown, missing or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as found:
        raise error(str(path), "", f"cannot be read: {found}") from found
    if path.suffix in (".yaml", ".yml"):
        text = yaml_as_json(text, str(path), error)
    return parse_document(model, text, str(path), error)


def read_texts(path: Path, error: type[DocumentError]) -> Iterator[tuple[Path, str]]:
    """Yield the text of a file, or of every document that lies in a folder, by name.

    Raises:
        DocumentError: of the given type: one cannot be read, or the folder holds none.
    """
    files = sorted(one for one in path.iterdir() if one.suffix in (*SUFFIXES, *LINES)) if path.is_dir() else [path]
    if not files:
        raise error(str(path), "", "no YAML or JSON file lies in this folder")
    for file in files:
        try:
            yield file, file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as found:
            raise error(str(file), "", f"cannot be read: {found}") from found


def yaml_values(text: str, name: str, error: type[DocumentError]) -> list[JsonValue]:
    """Return the documents of a YAML text, as values that JSON has.

    Raises:
        DocumentError: it is no YAML, or holds what JSON cannot.
    """
    try:
        found: list[JsonValue] = json.loads(json.dumps(list(yaml.load_all(text, _Loader)), allow_nan=False))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        raise error(name, "", f"no YAML: {' '.join(str(problem).split())}") from problem
    return found


def yaml_as_json(text: str, name: str, error: type[DocumentError]) -> str:
    """Return a YAML text as JSON.

    Raises:
        DocumentError: it is no YAML, or holds what JSON cannot.
    """
    try:
        return json.dumps(yaml.load(text, _Loader), allow_nan=False)  # a safe loader
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as found:
        raise error(name, "", f"no YAML: {' '.join(str(found).split())}") from found


def parse_document(model: type[ModelT], text: str, name: str, error: type[DocumentError]) -> ModelT:
    """Return what a JSON text holds; ``name`` is what errors call it.

    Raises:
        DocumentError: the text is no JSON, or a key is unknown, missing or wrong.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as found:
        errors = found.errors(include_url=False, include_context=False, include_input=False)
        first = min(errors, key=lambda one: one["type"] != "extra_forbidden")  # what is missing may be misspelled there
        location = first["loc"]
        match first["type"]:
            case "extra_forbidden":
                near = difflib.get_close_matches(str(location[-1]), _fields(model, location[:-1]), n=1)
                meant = f"Did you mean {near[0]!r}?" if near else "Remove it, or spell it as the documentation does"
                why = f"unknown key. {meant}"
            case "missing":
                why = "missing"
            case "json_invalid":
                why = f"no JSON: {first['msg']}"
            case _:
                why = first["msg"].removeprefix("Value error, ")
        more = found.error_count() - 1
        key = ".".join(str(part) for part in location if part != OTHER)
        raise error(name, key, why + (f" (and {more} more)" if more else "")) from found


def _fields(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are known at a place. A part of it may be a field, a place in a list, or a kind."""
    here = [model]
    for part in location:
        if isinstance(part, int):
            continue
        if part in BUILT_IN:
            here = [BUILT_IN[part]]
        elif of_kind := [one for one in here if part in _kinds(one)]:
            here = of_kind
        else:
            fields = [one.model_fields[part] for one in here if part in one.model_fields]
            here = [found for field in fields for found in _models(field.annotation)]
    return [field.alias or name for one in here for name, field in one.model_fields.items()]


def _kinds(model: type[BaseModel]) -> tuple[object, ...]:
    """Return the values of a model's ``kind``."""
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field else ()


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
