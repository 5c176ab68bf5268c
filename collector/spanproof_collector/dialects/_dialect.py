"""What a dialect is: one way of writing an agent's work into spans and log records."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec

from spanproof_collector.model.readings import Decision, Message, ModelCall, Other, Reading, ToolRun
from spanproof_collector.model.spans import SpanEvent
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Value


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a model call, told by a log record of its own."""

    direction: Literal["input", "output"]
    message: Message


LogPart: TypeAlias = Literal["prompt", "request", "answer", "words", "decision", "result"]
"""What an entry of an agent's log tells of a step: of an inference its prompt, request, answer and the answer's words;
of a tool call the decision on it and its result."""


class LogStep(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of an agent's own log. Several tell of one step, in the order of the log; spans may tell of it too."""

    part: LogPart
    reading: ModelCall | ToolRun | Decision | Message
    thread: str = ""
    """Entries of one inference have this in common, where the agent says so: the id of its prompt."""

    response_id: str | None = None
    """For words: the answer that they are part of."""

    sequence: int = 0
    """The place among entries of the same moment."""

    duration: int = 0
    """How long the step took that ended with this entry, in nanoseconds."""


LogReading: TypeAlias = ModelCall | ToolRun | Decision | MessageEvent | ForeignResult | LogStep | Other
"""``Other`` claims a record that tells nothing of a step."""


class SpanView(msgspec.Struct, kw_only=True):
    """A span as a dialect sees it. The name may be read; it never tells whose span it is."""

    attributes: Attributes
    scope: str = ""
    """The name of the instrumentation scope."""

    name: str = ""
    events: Sequence[SpanEvent] = ()
    span_id: str = ""
    history: bool = True
    """False: leave out what no projection tells of a span that names its session. That is most of what there is to
    read: what the model was given, its input and its tools; the id of its answer, why that ended; a tool's answer."""


class LogView(msgspec.Struct, kw_only=True):
    """A log record as a dialect sees it."""

    attributes: Attributes
    event_name: str = ""
    body: Value = None
    scope: str = ""
    span_id: str = ""


class Dialect:
    """Reads spans and log records of one dialect.

    Detection goes by what a dialect states here: attributes, then scope; never by span name or schema URL. A dialect
    that is a candidate reads the span or says ``None``, and the next one in order is asked.
    """

    name: ClassVar[str]
    """The name shown in a trial's ``dialects``."""

    marks: ClassVar[frozenset[str]] = frozenset()
    """Attribute keys of which one makes a span a candidate."""

    prefixes: ClassVar[tuple[str, ...]] = ()
    """Beginnings of attribute keys; looked for only where nothing else claims the span."""

    scopes: ClassVar[tuple[str, ...]] = ()
    """Beginnings of scope names; a span or record of such a scope is a candidate."""

    log_events: ClassVar[tuple[str, ...]] = ()
    """Beginnings of event names; such a record is a candidate."""

    session_keys: ClassVar[tuple[str, ...]] = ()
    """Where the session stands, besides ``gen_ai.conversation.id`` and ``session.id``."""

    user_keys: ClassVar[tuple[str, ...]] = ()
    """Where the user stands, besides ``user.id`` and ``enduser.id``."""

    def session(self, attributes: Attributes) -> str:
        """The session where it stands under a key that means something else elsewhere; ``""`` where it does not."""
        return ""

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, or ``None`` where it is another dialect's span."""
        return None

    def read_log(self, log: LogView) -> LogReading | None:
        """What the log record says, or ``None`` where it is another dialect's record."""
        return None

    def foreign(self, span: SpanView) -> Iterable[ForeignResult]:
        """Results of other tools that stand on a span of this dialect."""
        return ()
