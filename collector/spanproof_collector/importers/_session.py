"""A recorded session in one shape, whatever tool wrote it. Importers of sessions yield these; ``_spans`` makes spans.

What a recording does not hold is ``None`` or ``ABSENT``, never a default. Text stays as it was written. Times are Unix
nanoseconds. ``key`` is the id that the recording itself gives a thing; where it is ``None`` its time stands in for it,
else its place in the session, so that a longer recording of one session gives what was there before the same ids.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from spanproof_collector.model.readings import ABSENT, Recorded, Usage
from spanproof_collector.model.values import Json

Termination = Literal["completed", "budget_exhausted", "infrastructure", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message that no model of the agent wrote: instructions, the user's words, what the environment showed."""

    role: Literal["system", "user", "environment"]
    text: str = ""
    kind: Literal["text", "compaction"] = "text"
    """``compaction``: the summary that replaces earlier turns. Nobody said it."""

    parts: tuple[Mapping[str, Json], ...] = ()
    """Further parts in the GenAI message schema: media, or a placeholder of it."""

    at: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Somebody did not let a call through: it never ran."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call, with its answer. Without result and error nobody knows whether it ran.

    A call inside an ``Inference`` was asked for by the model. One that is a turn of its own was asked for by no
    recorded inference; with ``requestor="user"`` it is the user's and no call of the agent's.
    """

    name: str
    call_id: str | None = None
    """As recorded. ``None`` where there is none; ids that repeat stay as they are."""

    arguments: Recorded = ABSENT
    """JSON; the text as it stands where it is no JSON."""

    result: Recorded = ABSENT
    error: str | None = None
    """The recording says that the call failed, in these words. ``result`` is left out then."""

    succeeded: bool = False
    """The recording says that it went well, and holds no result."""

    exit_code: int | None = None
    """What the command ended with that it ran, where the recording tells that beside the words."""

    refused: Refused | None = None
    requestor: Literal["agent", "user"] = "agent"
    effect_class: Literal["read", "write", "destructive", "handoff"] | None = None
    """Only where the recording itself declares it."""

    runs: tuple["Run", ...] = ()
    """Runs of other agents that the call started and that answered it."""

    at: int | None = None
    answered_at: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """One answer of a model: what it said and asked for."""

    text: str | None = None
    """Its words to the reader; ``None`` and ``""`` say nothing."""

    reasoning: str | None = None
    """Kept, and never taken for an answer."""

    parts: tuple[Mapping[str, Json], ...] = ()
    """Further parts in the GenAI message schema."""

    calls: tuple[Call, ...] = ()
    refused: tuple[Refused, ...] = ()
    """Calls that it asked for in words, that were not let through, and that the recording does not list as calls."""

    model: str | None = None
    """``None``: the session's."""

    provider: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    """``input_tokens`` includes cached ones."""

    cost: Decimal | None = None
    """US dollars, as the recording bills this inference."""

    error: str | None = None
    """It failed or was broken off, in these words."""

    agent: str | None = None
    """The name of the agent that spoke, where several do."""

    started_at: int | None = None
    at: int | None = None
    """When the answer was there."""

    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The session pauses for somebody's decision."""

    owner: str | None = None
    decision: str | None = None
    deadline: int | None = None
    resumable: bool | None = None
    at: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The agent declares how its task stands by a structured act, such as an action ``submit``; words are no act."""

    state: Literal["success", "partial", "failure", "none"]
    text: str | None = None
    at: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of another agent inside the session. What it says is no answer of the session's."""

    agent: str | None = None
    turns: tuple["Turn", ...] = ()
    error: str | None = None
    at: int | None = None
    ended_at: int | None = None
    key: str | None = None


Turn: TypeAlias = Said | Inference | Call | Run | Wait | Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What the recording says the session is an attempt at."""

    task_id: str | None = None
    attempt: int | None = None
    """Counts from 0."""

    variant: str | None = None
    suite: str | None = None
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """Further labels (split, domain, task text, termination); ``None`` is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the original harness or anybody else said of the session. Shown as theirs, never taken for ours."""

    name: str
    score: float | None = None
    label: str | None = None
    explanation: str | None = None
    error_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What somebody saw change in the world through the session."""

    actual: Json
    gold: Json = None
    """What would have changed had the task been done as its author meant; ``None`` where nobody says."""

    calls: Json = None
    """Call by call."""

    by: str
    """Where it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One recorded session.

    ``identity`` is what makes it itself within its format: recorded ids, or the digest of its content where it has
    none (``digest_of``). Sessions of one identity are one, in whatever file they stand.
    """

    identity: tuple[str, ...]
    session_id: str | None = None
    """As recorded; ``None`` where the recording has none."""

    agent_name: str | None = None
    agent_version: str | None = None
    model: str | None = None
    provider: str | None = None
    labels: Labels = Labels()
    turns: tuple[Turn, ...] = ()
    rooted: bool = True
    """False where this is a part whose session is told elsewhere, such as a sub-agent's file: no root is written."""

    part: int = 0
    """Which part of its session this is: parts without times follow each other. Turns of parts need keys of their own.
    """

    answer: str | None = None
    """The words that the session ended with, where they are no inference's own: what was handed to a closing act."""

    termination: Termination | None = None
    cut: bool = False
    """The recording breaks off: what came last is not known."""

    task: Json = None
    """The definition of its task as its suite keeps it; ``None`` where nobody has it."""

    tools: Json = None
    """The tools that the model was offered, as OpenAI or MCP define them; ``None`` where nobody says."""

    verdicts: tuple[Verdict, ...] = ()
    changes: Changes | None = None
    usage: Usage | None = None
    """Tokens of the whole session, where they are not recorded by inference."""

    cost: Decimal | None = None
    """US dollars of the whole session, where they are not recorded by inference."""

    started_at: int | None = None
    ended_at: int | None = None


def digest_of(content: bytes) -> str:
    """Return what stands for an id where a recording has none: the SHA-256 of its content, 32 hex digits."""
    return hashlib.sha256(content).hexdigest()[:32]
