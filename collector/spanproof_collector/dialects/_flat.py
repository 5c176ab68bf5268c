"""Structure spread over many attributes: ``llm.input_messages.0.message.role``, ``gen_ai.prompt.0.content``."""

from typing import Final

from spanproof_collector.dialects._json import to_json
from spanproof_collector.model.values import Attributes, Json

_MOST_STEPS: Final = 12
"""Nobody spreads structure deeper than this; what has more dots stays one key."""


def gathered(attributes: Attributes, prefix: str) -> dict[str, Json]:
    """Return what stands under a prefix, put together again; lists as mappings from their indexes.

    Of a value and a branch under one key the one that came first stands.
    """
    tree: dict[str, Json] = {}
    start = len(prefix)
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[start:].split(".", _MOST_STEPS)
        at: dict[str, Json] | None = tree
        for step in path:
            inner: Json = at.setdefault(step, {}) if at is not None else None
            at = inner if isinstance(inner, dict) else None
        if at is not None:
            at.setdefault(last, to_json(value))
    return tree


def listed(tree: Json) -> list[tuple[int, Json]]:
    """Return a gathered list in the order of its indexes, each item with its own; keys that are no index are left."""
    if not isinstance(tree, dict):
        return []
    return sorted(((int(key), item) for key, item in tree.items() if _is_index(key)), key=lambda pair: pair[0])


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 10
