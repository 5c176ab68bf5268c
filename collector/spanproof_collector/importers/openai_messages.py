"""Conversations in OpenAI's chat shape: a JSON array or JSON lines of objects with ``messages``.

Beside the messages an object may hold ``id``, ``task_id``, ``attempt``, ``variant``, ``suite``, ``model``, ``tools``
and ``usage``; every other text, number or flag in it comes along as a label.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from spanproof_collector.importers._chat import turns_of
from spanproof_collector.importers._documents import Document, Read, documents, sessions
from spanproof_collector.importers._fields import fingerprint, ident, moment, obj, objects, openai_usage, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Labels, Session
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.values import Json

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_OWN: Final = frozenset({"id", "task_id", "attempt", "variant", "suite", "model", "messages", "tools", "usage"})
_LOOKED_AT: Final = 50
"""How many sessions of an array may be without a message before it is taken for none of this format."""

_TIMES: Final = frozenset({"timestamp", "created_at", "created"})


@dataclass(frozen=True)
class OpenAIMessages:
    """Objects with ``messages`` in the shape of chat completions."""

    name: str = "openai_messages"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the sessions of the file, or ``None`` where its objects hold no such messages.

        Raises:
            OSError: the file cannot be read.
        """
        begins = outline(file.path)
        # sessions in which nothing was said may come first, and lines about the file
        if not (
            any(map(_has_messages, begins.values))
            or any(map(_has_messages, file.opening))
            or (begins.kind == "array" and "messages" in begins.first and any(map(_is_session, _beginning(file))))
        ):
            return None
        return sessions(file, partial(_session, _Recordings()))


def _has_messages(value: Json) -> bool:
    messages = objects(obj(value).get("messages"))
    return bool(messages) and messages[0].get("role") in _ROLES


def _is_session(read: Read) -> bool:
    return isinstance(read, Document) and _has_messages(read.value)


def _beginning(file: ReadableFile) -> Iterator[Read]:
    return islice(documents(file), _LOOKED_AT)


class _Recordings:
    """The recordings of one file that share an id: one that goes on where another ends is the same session."""

    def __init__(self) -> None:
        self._chains: dict[str, list[bytes]] = defaultdict(list)
        """What identifies sessions, and the digests of each one's messages, eight bytes a message."""

    def number(self, identity: str, messages: Sequence[Json]) -> int:
        """Return which of the sessions of this identity these messages are, counted from 0."""
        chain = b"".join(bytes.fromhex(fingerprint(message)[:16]) for message in messages)
        known = self._chains[identity]
        for number, other in enumerate(known):
            if chain.startswith(other) or other.startswith(chain):
                known[number] = max(chain, other, key=len)
                return number
        known.append(chain)
        return len(known) - 1


def _through_first_answer(messages: Sequence[dict[str, Json]]) -> Sequence[dict[str, Json]]:
    first = next((place for place, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    return messages[: first + 1]


def _session(recordings: _Recordings, document: Document) -> Iterator[Session | Damage]:
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        yield Damage(reason="no object with a list of messages", line=document.line)
        return
    messages = objects(value["messages"])
    session_id, task_id, variant = ident(value.get("id")), ident(value.get("task_id")), ident(value.get("variant"))
    attempt = whole(value.get("attempt"))
    if session_id:
        # an id is often that of the task: another run answers otherwise
        identity = fingerprint(session_id, task_id, attempt, variant, *_through_first_answer(messages))
        number = recordings.number(identity, messages)
        own = (identity, str(number)) if number else (identity,)
    else:
        own = (fingerprint(value),)
    usage = openai_usage(value.get("usage"))
    facts = {
        key: item
        for key, item in value.items()
        if key not in _OWN | _TIMES and isinstance(item, str | int | float | bool)
    }
    yield Session(
        identity=own,
        session_id=session_id,
        model=text(value.get("model")),
        labels=Labels(task_id=task_id, attempt=attempt, variant=variant, suite=ident(value.get("suite")), facts=facts),
        turns=tuple(turns_of(messages)),
        tools=value.get("tools") or None,
        usage=usage if usage != Usage() else None,
        started_at=next((at for key in sorted(_TIMES) if (at := moment(value.get(key))) is not None), None),
    )
