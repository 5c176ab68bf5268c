"""Content of chat messages as providers write it: a text, or a list of parts. Media become placeholders."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from spanproof_collector.importers._fields import obj, objects, text
from spanproof_collector.model.values import Json

_DATA_URI: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?[^,]{0,64},")
_MEDIA: Final = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "document", "file"})
_REASONING: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a message holds."""

    text: str = ""
    reasoning: str | None = None
    parts: tuple[dict[str, Json], ...] = ()
    """Placeholders of media, and what else was no text, in the GenAI message schema."""

    others: tuple[dict[str, Json], ...] = ()
    """Blocks that ask for tools or answer them, as they were written."""


def media(kind: str, data: Json) -> dict[str, Json]:
    """Return a placeholder of media: kind, type, size and digest, and where it lies if that is a link. Never opened."""
    place: dict[str, Json] = {"type": kind, "omitted": True}
    if not isinstance(data, str):
        return place
    found = _DATA_URI.match(data)
    if found is None and len(data) < 2048:
        return place | {"uri": data}
    if found is not None and found["type"]:
        place["mime_type"] = found["type"]
    return place | {"characters": len(data), "sha256": hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()}


def content(value: Json) -> Content:
    """Return what the content of a message holds."""
    if isinstance(value, str):
        return Content(text=value)
    if isinstance(value, dict):
        value = [value]
    words: list[str] = []
    thoughts: list[str] = []
    parts: list[dict[str, Json]] = []
    others: list[dict[str, Json]] = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            words.append(item)
            continue
        part = obj(item)
        kind = text(part.get("type"))
        if kind in _TEXTS or (kind is None and isinstance(part.get("text"), str)):
            words.append(text(part.get("text")) or text(part.get("content")) or "")
        elif kind in _REASONING:
            thoughts.append(text(part.get("reasoning")) or text(part.get("thinking")) or text(part.get("text")) or "")
        elif kind in _MEDIA:
            parts.append(_media(kind, part))
        elif kind in ("tool_use", "tool_result"):
            others.append(part)
        elif part:
            parts.append({"type": str(kind or "unknown"), "content": part})
    return Content(
        text="\n".join(word for word in words if word),
        reasoning="\n".join(thought for thought in thoughts if thought) or None,
        parts=tuple(parts),
        others=tuple(others),
    )


def _media(kind: str, part: dict[str, Json]) -> dict[str, Json]:
    plain = kind.removeprefix("input_").removesuffix("_url")
    for key in (kind, plain, "image_url", "url", "data", "source", "document", "file"):
        value = part.get(key)
        inner = obj(value)
        data = inner.get("url") or inner.get("data") if inner else value
        if isinstance(data, str):
            return media(plain, data)
    return media(plain, None)


def plain_result(value: Json) -> Json:
    """Return a tool's answer: words alone as one text, words and media as a list with placeholders."""
    if not isinstance(value, list) or not value or not all(isinstance(obj(item).get("type"), str) for item in value):
        return value
    if all(part.get("type") in _TEXTS for part in objects(value)):
        return content(value).text
    answer: list[Json] = []
    for part in objects(value):
        kind = str(part["type"])
        answer.append(_media(kind, part) if kind in _MEDIA else dict(part))
    return answer
