"""What a dialect is: one way of writing an agent's work into spans and log records."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from spanproof_collector.model.readings import Message, ModelCall, Reading
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEvent:
    """One message of a model call, told by a log record of its own."""

    direction: Literal["input", "output"]
    message: Message


LogReading: TypeAlias = ModelCall | MessageEvent | ForeignResult


class Dialect(Protocol):
    """Reads spans and log records of one dialect. Detection goes by attributes, then scope; never by span name."""

    @property
    def name(self) -> str:
        """The name shown in a trial's ``dialects``."""
        ...

    def read(self, attributes: Attributes, scope_name: str, *, history: bool = True) -> Reading | None:
        """What the span says, or ``None`` where it is another dialect's span.

        ``history=False`` leaves out what the model was given, its input and its tools: it is most of what there is to
        read, and the projection of a span that names its session does without.
        """
        ...

    def read_log(self, attributes: Attributes, event_name: str, body: Value, span_id: str) -> LogReading | None:
        """What the log record says, or ``None`` where it is another dialect's record."""
        ...
