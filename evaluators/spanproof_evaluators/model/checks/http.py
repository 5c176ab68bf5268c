"""What a service answers."""

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from spanproof_evaluators.model.checks._base import CheckSpec, Counts

if TYPE_CHECKING:
    from jsonpath import CompoundJSONPath, JSONPath


def json_path(path: str) -> "JSONPath | CompoundJSONPath":
    """Return a compiled JSON path. Its regular expressions have no time limit, so there are none.

    Raises:
        ValueError: the text is none.
    """
    from jsonpath import JSONPathEnvironment
    from jsonpath.exceptions import JSONPathError

    environment = JSONPathEnvironment(strict=True)
    for name in ("match", "search"):
        environment.function_extensions.pop(name, None)
    try:
        return environment.compile(path)
    except JSONPathError as error:
        raise ValueError(f"no JSON path: {error}") from error


class JsonExpected(Counts):
    """The values at a JSON path: how many there are, and what each of them is."""

    path: str
    """JSON path by RFC 9535, as ``$.items[0].status``."""

    equals: JsonValue = None
    """What every value is. ``null`` is asked for with ``is_null``."""

    is_null: bool = False
    contains: str | None = None
    """A text that every value holds."""

    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    @field_validator("path")
    @classmethod
    def _compiles(cls, path: str) -> str:
        json_path(path)
        return path

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if sum((self.equals is not None, self.is_null, self.contains is not None)) > 1:
            raise ValueError("give equals, is_null or contains, and only one of them")
        return self


class HttpCheck(CheckSpec):
    """A GET: its status, and what its JSON holds."""

    literal: ClassVar[frozenset[str]] = frozenset({"expect.path"})
    raw: ClassVar[frozenset[str]] = frozenset({"expect"})
    quoted: ClassVar[frozenset[str]] = frozenset({"path"})

    kind: Literal["http"]
    destination: str
    path: str = ""
    """Appended to the destination's address."""

    status: tuple[int, ...] = Field(default=(200,), strict=False)
    expect: tuple[JsonExpected, ...] = Field(default=(), strict=False)
    timeout: float = Field(default=10.0, gt=0, le=600, allow_inf_nan=False)
    """For each attempt, in seconds."""

    attempts: int = Field(default=3, ge=1, le=10)
    max_bytes: int = Field(default=1_000_000, ge=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not self.status:
            raise ValueError("name a status that passes")
        if "://" in self.path or self.path.startswith("//") or ".." in self.path.split("?")[0].split("/"):
            raise ValueError(f"{self.path!r} leaves the destination. Give what comes after its address")
        return self

    @property
    def positive(self) -> bool:
        """Whether an object has to be there, and something in it."""
        there = all(200 <= code < 300 for code in self.status)
        return there and (not self.expect or any(one.expected[0] > 0 for one in self.expect))

    @property
    def destinations(self) -> frozenset[str]:
        """The service."""
        return frozenset({self.destination})
