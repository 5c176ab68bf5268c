"""What a dialect reads in one span or log record, in one vocabulary. Assembling them into a trial is not its job.

Structs and not dataclasses: ingest makes ten of them a span, and a frozen dataclass costs six times as much to make.
"""

from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

from spanproof_collector.model.values import Json


class Absent:
    """The type of ``ABSENT``: not recorded, which is not the same as JSON null."""

    _only: "Absent | None" = None

    def __new__(cls) -> "Absent":
        """Return the one instance."""
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        """Name it."""
        return "ABSENT"

    def __bool__(self) -> bool:
        """Absent is falsy."""
        return False


ABSENT = Absent()
Recorded: TypeAlias = "Json | Absent"
"""A JSON value, or ``ABSENT`` where the bytes do not hold one."""

Role = Literal["system", "user", "assistant", "tool", "other"]


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """Words of a message."""

    content: str


class CallPart(msgspec.Struct, frozen=True, kw_only=True):
    """The model asks for a tool."""

    name: str
    call_id: str | None = None
    arguments: Recorded = ABSENT


class ResponsePart(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer, as the next model call was given it."""

    call_id: str | None = None
    name: str | None = None
    """The tool's name, where the answer carries it: it joins answers that have no call id."""

    response: Recorded = ABSENT
    is_error: bool | None = None


class DecisionPart(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody allowed a call that waited for it, or did not."""

    call_id: str
    approved: bool
    reason: str | None = None


class OtherPart(msgspec.Struct, frozen=True, kw_only=True):
    """Reasoning, media, compaction: kept, and never taken for an answer."""

    type: str
    content: Json = None


Part: TypeAlias = Text | CallPart | ResponsePart | DecisionPart | OtherPart


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    finish_reason: str | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens. ``None`` was not recorded. ``input_tokens`` includes cached ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model was offered. A hint is ``None`` where nobody gave it."""

    name: str
    parameters: Json = None
    """The JSON Schema of its arguments as it was sent; ``None`` where nobody sent one."""

    read_only_hint: bool | None = None
    destructive_hint: bool | None = None


ContentState = Literal["captured", "partial", "not_captured"]


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """One inference. Message lists are ``None`` where content was not captured."""

    operation: str
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    system: str | None = None
    input: tuple[Message, ...] | None = None
    output: tuple[Message, ...] | None = None
    tools: tuple[ToolDefinition, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    """What the dialect says of a failure beside the span's status."""

    answered_beside: bool = False
    """Its answer came as a stream, and may stand in a span of its own that began later beside it."""

    cost: Decimal | None = None
    """What the sender recorded of the cost of this call, in USD."""

    truncated_values: int = 0


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """One tool span. A tool span is no proof that the tool ran."""

    name: str
    call_id: str | None = None
    arguments: Recorded = ABSENT
    bare_argument: str | None = None
    """The value of the only argument, where its name was left out and ``arguments`` are not recorded."""

    result: Recorded = ABSENT
    mcp_side: Literal["client", "server"] | None = None
    """Set where this is a protocol span beneath the agent's own tool span."""

    error: str | None = None
    """What the dialect says of a failure beside the span's status."""

    done: bool = False
    """The dialect says that the tool ran and did not fail, whether or not its result was recorded."""

    exit_code: int | None = None
    """What the command ended with that the tool ran, where the dialect tells it beside the result."""

    stopped: Literal["deferred", "denied", "invalid"] | None = None
    """The dialect says that this run never began: it waits for a decision, was denied, or its arguments were wrong."""

    handoff_to: str | None = None
    """Set where the span is a handoff: the agent that goes on."""

    by_user: bool = False
    """The user called it, not the agent."""

    truncated_values: int = 0


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of an agent or workflow."""

    operation: str
    name: str | None = None
    version: str | None = None
    model: str | None = None
    input: tuple[Message, ...] | None = None
    output: tuple[Message, ...] | None = None
    tools: tuple[ToolDefinition, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    error: str | None = None
    """What the dialect says of a failure beside the span's status."""

    usage: Usage = Usage()
    """The sum over its inferences, as far as the sender knows. It counts only where no inference tells its own."""

    delegated: bool = False
    """It works for another agent, and its words are no answer of the trial."""

    truncated_values: int = 0


class Retrieval(msgspec.Struct, frozen=True, kw_only=True):
    """A search in a data source."""

    query: str | None = None
    source: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody was asked whether a call may run. Without a call id it is of the tool span around it."""

    approved: bool | None
    """``None``: no answer yet, or none recorded."""

    call_id: str | None = None
    name: str | None = None
    """The tool."""

    by: str | None = None
    reason: str | None = None
    arguments: Recorded = ABSENT
    """What the call was asked with, where that is told with the decision."""


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """A span that the dialect knows and that is no step of the agent's (memory, plan, session bookkeeping)."""

    operation: str


Reading: TypeAlias = ModelCall | ToolRun | AgentRun | Retrieval | Decision | Other
