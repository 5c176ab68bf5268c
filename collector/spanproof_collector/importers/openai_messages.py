"""Conversations in OpenAI's chat shape: a JSON array or JSON lines of objects with ``messages``.

Beside the messages an object may hold ``id``, ``task_id``, ``attempt``, ``variant``, ``suite``, ``model``, ``tools``
and ``usage``; every other text, number or flag in it comes along as a label.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from spanproof_collector.importers._chat import turns_of
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import fingerprint, ident, moment, objects, openai_usage, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Labels, Session
from spanproof_collector.model.readings import Usage

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_OWN: Final = frozenset({"id", "task_id", "attempt", "variant", "suite", "model", "messages", "tools", "usage"})
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
        first = outline(file.path).within("messages")
        if first.get("role") not in _ROLES:
            return None
        return sessions(file, _session)


def _session(document: Document) -> Iterator[Session | Damage]:
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        yield Damage(reason="no object with a list of messages", line=document.line)
        return
    messages = objects(value["messages"])
    session_id, task_id, variant = ident(value.get("id")), ident(value.get("task_id")), ident(value.get("variant"))
    attempt = whole(value.get("attempt"))
    opening = list(takewhile(lambda message: message.get("role") != "assistant", messages))
    own = (session_id, task_id, attempt, variant, *opening) if session_id else (value,)
    usage = openai_usage(value.get("usage"))
    facts = {
        key: item
        for key, item in value.items()
        if key not in _OWN | _TIMES and isinstance(item, str | int | float | bool)
    }
    yield Session(
        identity=(fingerprint(*own),),
        session_id=session_id,
        model=text(value.get("model")),
        labels=Labels(task_id=task_id, attempt=attempt, variant=variant, suite=ident(value.get("suite")), facts=facts),
        turns=tuple(turns_of(messages)),
        tools=value.get("tools") or None,
        usage=usage if usage != Usage() else None,
        started_at=next((at for key in sorted(_TIMES) if (at := moment(value.get(key))) is not None), None),
    )
