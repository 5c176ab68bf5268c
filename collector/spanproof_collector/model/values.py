"""Attribute values: what an OTLP AnyValue can hold, and JSON."""

from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | bytes | list[Value] | dict[str, Value] | None"
"""An OTLP AnyValue. ``None`` is the empty AnyValue, which was sent; an absent key was not sent."""

Json: TypeAlias = "str | bool | int | float | list[Json] | dict[str, Json] | None"

Attributes: TypeAlias = Mapping[str, Value]
