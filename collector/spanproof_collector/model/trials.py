"""A trial: one attempt at a task, or one session of production, as the evidence shows it."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from spanproof_collector.model.readings import ContentState, ToolDefinition, Usage
from spanproof_collector.model.values import Json

StepKind = Literal["model_call", "tool_call", "agent_call", "retrieval", "handoff", "wait", "other"]
Status = Literal["complete", "incomplete", "waiting", "aborted", "error"]
JoinedBy = Literal["label", "session", "trace", "history"]
EffectClass = Literal["read", "write", "destructive", "handoff", "unclassified"]
ClassSource = Literal["declared", "mcp", "catalog", "inferred", "observed"]
EffectState = Literal["verified", "failed", "reported", "unknown", "refused", "none"]
Executed = Literal["yes", "no", "unknown"]
ClaimState = Literal["success", "partial", "failure", "none", "unavailable"]
ClaimSource = Literal["declared", "termination", "text", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the trajectory, in order of start. Times in Unix nanoseconds."""

    kind: StepKind
    trace_id: str
    span_id: str
    name: str
    started_at: int
    ended_at: int
    failed: bool = False
    """The span's status is ERROR."""

    error: str | None = None
    """What is said of a failure: ``error.type`` and the words; ``None`` where it did not fail or nothing is said."""

    timed: bool = True
    """False where the recording has no time for it: its times keep the order and tell nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What somebody saw at a destination."""

    state: Literal["verified", "failed"]
    observer: str | None = None
    observed: str | None = None
    pre_state: str | None = None
    post_state: str | None = None
    destination: str | None = None
    resource: str | None = None
    operation: str | None = None
    idempotency_key: str | None = None
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The external change that a call intends, and what is known of it."""

    effect_class: EffectClass
    class_source: ClassSource | None
    """``None`` where the class is ``unclassified``."""

    state: EffectState
    reason: str
    destination: str | None = None
    resource: str | None = None
    operation: str | None = None
    idempotency_key: str | None = None
    resolved_by: str | None = None
    """The span that settled it: of the receipt, of the read that looked it up, of what was recorded of the world."""

    looked_up_by: tuple[str, ...] = ()
    """The spans of later reads that looked it up and were answered, whatever they saw."""

    watched: bool = False
    """True where an environment was compared before and after the call."""

    taken_for: EffectClass | None = None
    """What it was taken for before somebody saw it change something; ``None`` unless the class is ``observed``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call, once, however many spans, events, log records and message parts tell of it."""

    name: str
    call_id: str | None
    arguments: Json
    arguments_source: Literal["span", "message"] | None
    """``None``: not recorded; then ``arguments`` is ``None`` too."""

    result: Json
    result_source: Literal["span", "message"] | None
    error: str | None
    executed: Executed
    effect: Effect
    exit_code: int | None = None
    """What the command ended with that the tool ran; ``None`` where nobody tells, or where it ran none."""

    receipts: tuple[Receipt, ...] = ()
    span_ids: tuple[str, ...] = ()
    """The spans it rests on, tool spans first; for a call known from messages only, the model call's span."""

    asked_by: str | None = None
    """The span of the inference that asked for it; ``None`` where no inference before it is known."""

    started_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Words of the agent to its reader. What it reasoned is no part of them."""

    text: str
    span_id: str
    with_calls: bool
    """It asked for tools in the same breath."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """One call of a model, as far as it tells of the course of a conversation."""

    span_id: str
    agent: str | None = None
    """The name of the agent that it was made for; ``None`` where none is recorded."""

    own: bool
    """False where an agent made it that works for another one."""

    failed: bool
    prompted: bool | None
    """Somebody spoke to the agent since its last words: a user, or the environment in words that are no tool's answer;
    ``None``: its input is not recorded."""

    offered: bool
    """Which tools it could ask for is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanResult:
    """A tool's answer to a call that nobody made, by its call id."""

    call_id: str
    span_id: str
    """The inference that was given it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the agent declared, and which rule read it."""

    state: ClaimState
    source: ClaimSource
    rule: str
    span_id: str | None = None
    text: str | None = None
    """What was declared in words, where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A pause for somebody's decision. It stops the clock only when every field is given."""

    owner: str | None
    decision: str | None
    deadline: int | None
    resumable: bool | None
    span_id: str
    time: int

    @property
    def legitimate(self) -> bool:
        """True when owner, decision, deadline and a resumable state are all given."""
        return bool(self.owner and self.decision and self.deadline and self.resumable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that was refused on purpose: the boundary worked."""

    reason: str | None
    by: str | None
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One observed window of work. ``delta`` is the evidence gained in it."""

    key: str
    delta: float
    window: Literal["active", "waiting", "stale_collector"]
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """A versioned quality score between 0 and 1."""

    score: float
    grader: str
    revision: str
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndState:
    """A snapshot of the world. ``state`` is the JSON text as recorded; ``digest_matches`` says that its hash agrees."""

    phase: Literal["before", "after"]
    state: str
    digest: str | None
    digest_matches: bool | None
    """``None`` where no digest was recorded."""

    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChanges:
    """What somebody saw change in the world through a recorded session: their word, never a verdict of ours."""

    actual: Json
    gold: Json
    """What was meant to change; ``None`` where nobody says."""

    calls: Json
    by: str | None
    span_id: str
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResult:
    """A result that another tool reported (``gen_ai.evaluation.result``): shown, never taken for ours."""

    name: str
    score: float | None
    label: str | None
    explanation: str | None
    error_type: str | None
    span_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Money as billed, or as the price catalogue has it. Never 0 where neither says anything."""

    usd: Decimal | None
    """A lower bound where ``covered`` is false; ``None`` where there is neither bill nor price."""

    covered: bool
    reason: str | None
    """Why it is not covered."""

    catalogue: str | None = None
    """Name, version and hash of the catalogue, where its prices are in the sum."""

    source: Literal["bill", "catalogue", "bill and catalogue"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """What of the evidence is missing."""

    content: ContentState
    root_missing: bool
    dropped_attributes: int
    truncated_values: int
    unclaimed_spans: int
    calls_whole: bool = True
    """False where an inference may have asked for tools that nobody recorded: the absence of a call proves nothing."""

    unmetered_calls: int = 0
    """Inferences that did not fail and whose tokens were not recorded: what was counted is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt at a task by one variant; in production, one session."""

    trial_id: str
    project: str
    session_id: str | None
    user_id: str | None = None
    trace_ids: tuple[str, ...]
    source: str
    """``otlp``, or ``import:<format>``."""

    path: str | None
    dialects: tuple[str, ...]
    task_id: str | None
    attempt: int | None
    variant: str | None
    suite: str | None
    labels: dict[str, str] = field(default_factory=dict)
    agent_name: str | None
    agent_version: str | None
    models: tuple[str, ...]
    started_at: int
    ended_at: int
    status: Status
    status_reason: str | None
    joined_by: JoinedBy
    steps: tuple[Step, ...]
    tool_calls: tuple[ToolCall, ...]
    final_answer: str | None
    claim: Claim
    usage: Usage
    cost: Cost
    completeness: Completeness
    receipts: tuple[Receipt, ...] = ()
    """Every receipt, those that match no call included."""

    waits: tuple[Wait, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    progress: tuple[Progress, ...] = ()
    quality: tuple[Quality, ...] = ()
    end_states: tuple[EndState, ...] = ()
    foreign_results: tuple[ForeignResult, ...] = ()
    user_calls: tuple[ToolCall, ...] = ()
    """Calls that the user made, not the agent."""

    recorded_changes: tuple[RecordedChanges, ...] = ()
    prompt: str | None = None
    """The user's first words, as far as they are recorded."""

    spoken: tuple[Spoken, ...] = ()
    """What the agent said, inference by inference, in order: what a task's required words are looked for in."""

    declared_at: int | None = None
    """When success was first declared by an event, in Unix nanoseconds; ``None``: it was not, or not that way."""

    inferences: tuple[Inference, ...] = ()
    """In order."""

    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the agent was offered, as far as that is recorded: of each name the last definition."""

    orphan_results: tuple[OrphanResult, ...] = ()
    task_definition: Json = None
    """The task as its suite defines it, where an importer found that; ``None`` elsewhere."""

    timed: bool = True
    """False where the recording has no times: ``started_at`` and ``ended_at`` tell nothing then."""

    received_at: int | None = field(default=None, compare=False)
    """When the last of it came over the wire, in Unix nanoseconds; ``None``: all of it is from files.

    No part of what is known of the trial: the same spans sent at another time are the same trial.
    """

    @property
    def key(self) -> str:
        """What results on it are kept under: its id, and what that is the id of.

        A label, a session and a trace of one name are three trials.
        """
        if self.joined_by == "label":
            return f"label:{self.trial_id}"
        return f"session:{self.trial_id}" if self.session_id == self.trial_id else f"trace:{self.trial_id}"

    @property
    def understood(self) -> bool:
        """True when at least one step of the agent's own was recognized: only then can a rule speak of what it did."""
        return any(step.kind != "other" for step in self.steps)
