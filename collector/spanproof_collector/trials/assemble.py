"""A trial put together from its spans and log records. The same records give the same trial, in whatever order."""

from collections.abc import Sequence
from functools import partial

from spanproof_collector.dialects import attempt_of, evidence, user_of, word
from spanproof_collector.model.readings import (
    Absent,
    AgentRun,
    CallPart,
    ContentState,
    Decision,
    Message,
    ModelCall,
    Recorded,
    ResponsePart,
    Retrieval,
    Text,
    ToolRun,
    Usage,
)
from spanproof_collector.model.spans import Span
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.model.trials import (
    Completeness,
    EndState,
    Progress,
    Quality,
    Receipt,
    RecordedChanges,
    Refusal,
    Spoken,
    Status,
    Step,
    StepKind,
    ToolCall,
    Trial,
    Wait,
)
from spanproof_collector.model.values import Json
from spanproof_collector.trials._reading import ReadSpan, ReadTrial, read
from spanproof_collector.trials.claims import RECORDING_CUT, Said, read_claim
from spanproof_collector.trials.costs import cost_of
from spanproof_collector.trials.effects import Entry, infer_class, ledger, unanswered
from spanproof_collector.trials.grouping import TrialRecords
from spanproof_collector.trials.inferences import error_of, inferences, orphan_results
from spanproof_collector.trials.tool_calls import JoinedCall, join, of_user
from spanproof_instrumentation import semconv

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
"""What providers call an answer that was cut at its limit."""


def _json(value: Recorded) -> Json:
    return None if isinstance(value, Absent) else value


def _answer_of(messages: Sequence[Message] | None) -> str | None:
    """The words of an output that asks for no tool, but for those that ran at the provider."""
    if not messages:
        return None
    answered = {part.call_id for message in messages for part in message.parts if isinstance(part, ResponsePart)}
    if any(
        isinstance(part, CallPart) and (part.call_id is None or part.call_id not in answered)
        for message in messages
        for part in message.parts
    ):
        return None
    words = [part.content for message in messages for part in message.parts if isinstance(part, Text) and part.content]
    return "\n".join(words) or None


def _spoken(trial: ReadTrial) -> tuple[Spoken, ...]:
    """What the inferences of the trial's own agent put out in words, in order."""
    said = []
    for item, call in trial.speaking():
        parts = [part for message in call.output or () for part in message.parts]
        words = "\n".join(part.content for part in parts if isinstance(part, Text) and part.content)
        if words:
            asks = any(isinstance(part, CallPart) for part in parts)
            said.append(Spoken(text=words, span_id=item.span.span_id, with_calls=asks))
    return tuple(said)


def _outer_agents(trial: ReadTrial) -> list[tuple[ReadSpan, AgentRun]]:
    """Runs of agents that no other run encloses."""
    return [
        (item, run)
        for item, run in trial.agents()
        if not any(isinstance(outer.reading, AgentRun) for outer in trial.ancestors(item))
    ]


def _final_answer(trial: ReadTrial) -> tuple[str | None, str | None]:
    """The last words: of the last inference, or of the outermost run that ended after it."""
    models = sorted(trial.speaking(), key=lambda pair: (pair[0].span.end, pair[0].order))
    last = models[-1] if models else None
    for item, run in sorted(_outer_agents(trial), key=lambda pair: (pair[0].span.end, pair[0].order), reverse=True):
        if last is not None and item.span.end < last[0].span.end:
            break
        answer = _answer_of(run.output)
        if answer is not None:
            return answer, item.span.span_id
    if last is not None:
        return _answer_of(last[1].output), last[0].span.span_id
    return None, None


def _prompt(trial: ReadTrial) -> str | None:
    """The user's first words: of the outermost run of an agent, else of the first inference that recorded its input."""
    heard = [run.input for _, run in _outer_agents(trial)] + [call.input for _, call in trial.speaking()]
    for messages in heard:
        for message in messages or ():
            words = [part.content for part in message.parts if isinstance(part, Text) and part.content]
            if message.role == "user" and words:
                return "\n".join(words)
    return None


def _delegated(trial: ReadTrial, call: JoinedCall) -> bool:
    """True for a call of an agent that works for another one: what it submits is no claim on the whole task."""
    by = [call.asked_by] if call.asked_by is not None else [item for item, _ in call.runs[:1]]
    return any(trial.delegated(item) for item in by)


def _said(trial: ReadTrial, answer: str | None, answer_span: str | None) -> list[Said]:
    """The final answer, then the answers before it, latest first: an answer may only thank for what was said before."""
    if answer is None or answer_span is None:
        return []
    models = sorted(trial.speaking(), key=lambda pair: (pair[0].span.end, pair[0].order), reverse=True)
    before = [Said(text, item.span.span_id) for item, call in models if (text := _answer_of(call.output)) is not None]
    if before and before[0].text == answer:
        before = before[1:]
    return [Said(answer, answer_span), *before]


def _failing(trial: ReadTrial) -> ReadSpan | None:
    """The span whose failure ended the run: a root's status alone does not tell it."""
    models = sorted(trial.speaking(), key=lambda pair: (pair[0].span.end, pair[0].order))
    agents = sorted(trial.agents(), key=lambda pair: (pair[0].span.end, -pair[0].depth, pair[0].order))
    outer = _outer_agents(trial)
    if outer:
        item, _ = max(outer, key=lambda pair: (pair[0].span.end, pair[0].order))
        if item.failed:
            return item
        inside = [pair for pair in agents if item in trial.ancestors(pair[0]) and not pair[1].delegated]
        if inside and inside[-1][0].failed:
            return inside[-1][0]
        if _answer_of(max(outer, key=lambda pair: (pair[0].span.end, pair[0].order))[1].output) is not None:
            return None  # the run came to its answer, whatever an inference beside it did
    if models and models[-1][0].failed:
        return models[-1][0]
    return None


def _status(
    trial: ReadTrial, calls: Sequence[JoinedCall], *, root_missing: bool, termination: str | None, answer: str | None
) -> tuple[Status, str | None, str | None]:
    """Return status, reason and the span that shows it."""
    failing = _failing(trial)
    if termination not in (None, "completed"):
        return "aborted", termination, None
    waits = [item for item in trial.evidence if isinstance(item, Wait)]
    if waits and not _resumed(trial, waits[-1]):
        return "waiting", waits[-1].decision, waits[-1].span_id
    paused = next((call for call in reversed(calls) if _awaits_leave(call)), None)
    if paused is not None:
        return "waiting", "approval", paused.runs[-1][0].span.span_id
    if failing is not None:
        kind = failing.span.attributes.get(semconv.ERROR_TYPE)
        return "error", kind if isinstance(kind, str) else failing.error or None, failing.span.span_id
    if trial.damaged:
        return "incomplete", RECORDING_CUT, None
    if root_missing:
        return "incomplete", "root_missing", None
    outer = _outer_agents(trial)
    if outer:
        last_run, _ = max(outer, key=lambda pair: (pair[0].span.end, pair[0].order))
        if _last_said(trial, semconv.UNFINISHED) == semconv.UNFINISHED_RECORDING:
            return "incomplete", RECORDING_CUT, None
        if semconv.UNFINISHED in last_run.span.attributes or not last_run.span.end:
            return "incomplete", "unfinished", last_run.span.span_id
    models = sorted(trial.speaking(), key=lambda pair: (pair[0].span.end, pair[0].order))
    if models and answer is None:
        item, last = models[-1]
        asked = [call for call in calls if call.asked_by is item]
        unanswered = any(isinstance(call.response, Absent) and not call.settled for call in asked)
        if unanswered or (not asked and _asks_for_tools(last.finish_reasons)):
            return "incomplete", "ended_on_tool_call", item.span.span_id
    if models and any(reason in _CUT for reason in models[-1][1].finish_reasons):
        return "incomplete", "length", models[-1][0].span.span_id
    return "complete", None, None


def _awaits_leave(call: JoinedCall) -> bool:
    """True where a call was put off until somebody decides, and nothing tells that anybody did."""
    deferred = bool(call.runs) and call.runs[-1][1].stopped == "deferred"
    return deferred and isinstance(call.response, Absent) and not call.decisions


def _last_said(trial: ReadTrial, key: str) -> str | None:
    """Return what a span says of the end of the run, unless work began after that span: then it was not the end."""
    for item in reversed(trial.spans):
        said = item.span.attributes.get(key)
        if isinstance(said, str):
            around = [item, *trial.ancestors(item)]
            later = any(
                other.span.start >= item.span.end
                and isinstance(other.reading, ModelCall | ToolRun | AgentRun)
                and other not in around
                and item not in trial.ancestors(other)
                for other in trial.spans
            )
            return None if later else said
    return None


def _resumed(trial: ReadTrial, wait: Wait) -> bool:
    """True where work went on after a wait: another tool, another run, another trace, or a claim.

    The model may still say in the same run that it waits.
    """
    traces = {item.span.trace_id for item in trial.spans if item.span.span_id == wait.span_id}
    for item in trial.spans:
        later = item.span.start > wait.time
        elsewhere = isinstance(item.reading, ModelCall) and item.span.trace_id not in traces
        if later and (elsewhere or isinstance(item.reading, AgentRun | ToolRun)):
            return True
    return any(
        isinstance(said, evidence.DeclaredClaim) and said.time > wait.time and said.state != "none"
        for said in trial.evidence
    )


def _roots_missing(spans: Sequence[Span], whole_traces: dict[str, Sequence[Span]]) -> bool:
    """True where a trace of the trial has spans and none that has no parent: its root never ended, or was lost."""
    return any(all(span.parent_span_id for span in whole_traces[trace_id]) for trace_id in {s.trace_id for s in spans})


def _content(trial: ReadTrial, calls: Sequence[JoinedCall]) -> ContentState:
    have = lack = 0
    for item, call in trial.models():
        heard = call.input is not None, call.output is not None or item.failed
        have += any(heard)
        lack += not all(heard) or bool(call.truncated_values)
    for joined in calls:
        known = not isinstance(joined.arguments, Absent)
        have += known
        lack += not known
    have += sum(run.output is not None for _, run in trial.agents())
    if not have:
        return "not_captured"
    return "partial" if lack else "captured"


def _heard(trial: ReadTrial) -> bool:
    """True where words of a model or an agent were recorded: only then does the absence of an answer say anything."""
    said = [call.output for _, call in trial.models()] + [run.output for _, run in trial.agents()]
    return any(output is not None for output in said)


def _calls_whole(trial: ReadTrial) -> bool:
    """True where the tools that were asked for are all known: from tool spans, or from what every inference put out."""
    if trial.tools():
        return True
    models = trial.models()
    return bool(models) and all(
        item.failed
        or (call.output is not None and not call.truncated_values)
        or (bool(call.finish_reasons) and not _asks_for_tools(call.finish_reasons))
        for item, call in models
    )


def _asks_for_tools(reasons: Sequence[str]) -> bool:
    return any("tool" in reason or "function" in reason for reason in reasons)


def _unmetered(trial: ReadTrial) -> int:
    return sum(
        not item.failed and call.usage.input_tokens is None and call.usage.output_tokens is None
        for item, call in trial.models()
    )


def _usage(trial: ReadTrial) -> Usage:
    """Sum over inferences. An agent span repeats their sum, and counts only where no inference tells of its tokens."""
    told = [call.usage for _, call in trial.models()]
    if all(usage == Usage() for usage in told):
        told = [run.usage for _, run in _outer_agents(trial)]
    totals: dict[str, int | None] = dict.fromkeys(Usage.__struct_fields__)
    for usage in told:
        for name in totals:
            value: int | None = getattr(usage, name)
            if value is not None:
                totals[name] = (totals[name] or 0) + value
    return Usage(**totals)


def _steps(trial: ReadTrial) -> tuple[Step, ...]:
    waits = {item.span_id for item in trial.evidence if isinstance(item, Wait)}
    steps = []
    for item in trial.spans:
        kind: StepKind
        match item.reading:
            case ModelCall():
                kind = "model_call"
            case ToolRun(by_user=True):
                kind = "other"
            case ToolRun() as run:
                handoff = run.handoff_to is not None or infer_class(run.name, run.arguments) == "handoff"
                kind = "handoff" if handoff else "tool_call"
            case Decision():
                kind = "wait"
            case AgentRun():
                kind = "agent_call"
            case Retrieval():
                kind = "retrieval"
            case _ if item.span.span_id in waits:
                kind = "wait"
            case _:
                kind = "other"
        steps.append(
            Step(
                kind=kind,
                trace_id=item.span.trace_id,
                span_id=item.span.span_id,
                name=item.span.name,
                started_at=item.span.start,
                ended_at=item.span.end,
                failed=item.failed,
                error=error_of(item),
                timed=item.timed,
            )
        )
    return tuple(steps)


def _asking(call: JoinedCall, models: Sequence[tuple[ReadSpan, ModelCall]]) -> str | None:
    """The span of the inference that asked for a call: the one whose output has it, else the latest before it ran.

    One whose output is known and asks for nothing did not ask for it.
    """
    if call.asked_by is not None:
        return call.asked_by.span.span_id
    if not call.runs:
        return None
    first = min((item for item, _ in call.runs), key=lambda item: item.order)
    may_have_asked = [
        item
        for item, model in models
        if item.span.trace_id == first.span.trace_id
        and item.span.end <= first.span.start
        and not item.failed
        and (model.output is None or _answer_of(model.output) is None)
    ]
    return max(may_have_asked, key=lambda item: (item.span.end, item.order)).span.span_id if may_have_asked else None


def _tool_call(call: JoinedCall, known: Entry, models: Sequence[tuple[ReadSpan, ModelCall]] = ()) -> ToolCall:
    from_span = next((run.result for item, run in reversed(call.runs) if not isinstance(run.result, Absent)), Absent())
    on_span = any(
        not isinstance(run.arguments, Absent) or (run.bare_argument is not None and call.arguments == run.bare_argument)
        for _, run in call.runs
    )
    has_result = not isinstance(from_span, Absent)
    spans = [item.span.span_id for item, _ in call.runs] or ([call.asked_by.span.span_id] if call.asked_by else [])
    arguments = next(
        (run.arguments for item, run in call.runs if not isinstance(run.arguments, Absent)), call.arguments
    )
    return ToolCall(
        name=call.name,
        call_id=call.call_id or next((run.call_id for _, run in call.runs if run.call_id), None),
        arguments=_json(arguments),
        arguments_source=None if isinstance(arguments, Absent) else "span" if on_span else "message",
        result=_json(from_span if has_result else call.response),
        result_source="span" if has_result else None if isinstance(call.response, Absent) else "message",
        error=known.error,
        executed=known.executed,
        effect=known.effect,
        exit_code=known.exit_code,
        receipts=known.receipts,
        asked_by=_asking(call, models),
        span_ids=tuple(spans),
        started_at=min((item.span.start for item, _ in call.runs), default=call.asked_at[0]),
    )


def _first(spans: Sequence[Span], key: str) -> str | None:
    return next((value for span in spans if (value := word(span.labeled, key))), None)


def _labels(spans: Sequence[Span]) -> dict[str, str]:
    found: dict[str, str] = {}
    for span in spans:
        for key, value in span.labeled.items():
            if key.startswith(semconv.LABEL_PREFIX) and isinstance(value, str):
                found.setdefault(key.removeprefix(semconv.LABEL_PREFIX), value)
    return found


def assemble(
    records: TrialRecords,
    *,
    whole_traces: dict[str, Sequence[Span]],
    source: str,
    path: str | None,
    lost_values: int = 0,
    catalogue: ToolCatalogue = EMPTY,
) -> Trial:
    """Return the trial that these records tell of.

    Args:
        records: its spans and log records.
        whole_traces: all spans of its traces by trace id, those of other trials included: whether a root is missing
            is a question to the trace.
        source: ``otlp`` or ``import:<format>``.
        path: the file that was imported.
        lost_values: values that were sent and that the store cannot give back.
        catalogue: what people say of tools.
    """
    trial = read(records.spans, records.logs)
    spans = [item.span for item in trial.spans]
    calls = join(trial)
    tools = {tool.name: tool for _, call in trial.models() for tool in call.tools}
    tools |= {tool.name: tool for _, run in trial.agents() for tool in run.tools if tool.name not in tools}
    receipts = tuple(item for item in trial.evidence if isinstance(item, Receipt))
    refusals = tuple(item for item in trial.evidence if isinstance(item, Refusal))
    changes = tuple(item for item in trial.evidence if isinstance(item, RecordedChanges))
    by_user = of_user(trial)
    seen = partial(ledger, refusals=refusals, changes=changes, tools=tools, catalogue=catalogue)
    answer, answer_span = _final_answer(trial)
    content = _content(trial, calls)
    root_missing = (not records.spans and not trial.logged) or _roots_missing(records.spans, whole_traces)
    status, status_reason, end_span = _status(
        trial,
        calls,
        root_missing=root_missing,
        termination=_last_said(trial, semconv.TERMINATION_REASON),
        answer=answer,
    )
    models = trial.models()
    tool_calls = tuple(
        _tool_call(call, one, models)
        for call, one in zip(
            calls, seen(calls, receipts=receipts, beside=by_user, unanswered=unanswered(trial)), strict=True
        )
    )
    # a workflow lends its name only where no agent has one, and an agent that works for another one never
    own = (run for _, run in trial.agents() if not run.delegated)
    agents = sorted(own, key=lambda run: run.operation != "invoke_agent")
    attempt = next((number for s in spans if (number := attempt_of(s.labeled)) is not None), None)
    timed = [(item.span.start, item.span.end) for item in trial.spans if item.timed]
    times = timed or [(s.start, s.end) for s in spans] or [(r.time or r.observed_time,) * 2 for r in records.logs]
    return Trial(
        trial_id=records.key.value,
        project=records.key.project,
        session_id=records.session_id,
        user_id=next((found for s in spans if (found := user_of(s.attributes))), None),
        trace_ids=tuple(
            dict.fromkeys(each for each in (*(s.trace_id for s in spans), *(r.trace_id for r in records.logs)) if each)
        ),
        source=source,
        path=path,
        dialects=trial.dialects,
        task_id=_first(spans, semconv.TASK_ID),
        attempt=attempt,
        variant=_first(spans, semconv.VARIANT),
        suite=_first(spans, semconv.SUITE),
        labels=_labels(spans),
        agent_name=next((run.name for run in agents if run.name), None),
        agent_version=next((run.version for run in agents if run.version), None),
        models=tuple(dict.fromkeys(m for _, c in trial.models() if (m := c.response_model or c.request_model)))
        or tuple(dict.fromkeys(run.model for _, run in _outer_agents(trial) if run.model)),
        started_at=min(start for start, _ in times),
        ended_at=max(end for _, end in times),
        status=status,
        status_reason=status_reason,
        joined_by=records.joined_by,
        steps=_steps(trial),
        tool_calls=tool_calls,
        prompt=_prompt(trial),
        final_answer=answer,
        claim=read_claim(
            declared=[item for item in trial.evidence if isinstance(item, evidence.DeclaredClaim)],
            calls=[told for told, call in zip(tool_calls, calls, strict=True) if not _delegated(trial, call)],
            status=status,
            status_reason=status_reason,
            said=_said(trial, answer, answer_span),
            content=content if _heard(trial) else "not_captured",
            end_span=end_span,
        ),
        usage=_usage(trial),
        cost=cost_of(trial),
        completeness=Completeness(
            content=content,
            root_missing=root_missing,
            dropped_attributes=sum(s.dropped_attributes for s in spans),
            truncated_values=lost_values + sum(getattr(item.reading, "truncated_values", 0) for item in trial.spans),
            unclaimed_spans=trial.unclaimed,
            calls_whole=_calls_whole(trial),
            unmetered_calls=_unmetered(trial),
        ),
        receipts=receipts,
        waits=tuple(item for item in trial.evidence if isinstance(item, Wait)),
        refusals=refusals,
        progress=tuple(item for item in trial.evidence if isinstance(item, Progress)),
        quality=tuple(item for item in trial.evidence if isinstance(item, Quality)),
        end_states=tuple(item for item in trial.evidence if isinstance(item, EndState)),
        foreign_results=trial.foreign,
        user_calls=tuple(_tool_call(call, one) for call, one in zip(by_user, seen(by_user, beside=calls), strict=True)),
        recorded_changes=changes,
        spoken=_spoken(trial),
        declared_at=min(
            (one.time for one in trial.evidence if isinstance(one, evidence.DeclaredClaim) and one.state == "success"),
            default=None,
        ),
        inferences=inferences(trial),
        tools=tuple(tools.values()),
        orphan_results=orphan_results(trial, calls),
        task_definition=next((told for s in spans if (told := evidence.task(s.attributes)) is not None), None),
        timed=bool(timed) or not spans,
    )
