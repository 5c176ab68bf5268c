"""How evidence is shown in one line: values as JSON, cut where they are long."""

from collections.abc import Mapping, Sequence

from spanproof_evaluators.model.canonical import Layout, Plain, plain, written

LONGEST = 300


def shown(value: "Plain | Mapping[str, Plain] | Sequence[str] | Sequence[Mapping[str, Plain]]") -> str:
    """Return a value as JSON in one line of bounded length."""
    text = written(plain(value), Layout(ensure_ascii=False))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def same(left: Plain, right: Plain) -> bool:
    """Return whether two JSON values are equal: 25 is 25.0, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right
