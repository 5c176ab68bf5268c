"""Trials with only the facts that a test is about."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from spanproof_collector.model.readings import Usage
from spanproof_collector.model.trials import (
    Claim,
    ClaimState,
    Completeness,
    Cost,
    Effect,
    EffectClass,
    EffectState,
    EndState,
    Executed,
    Progress,
    Quality,
    Receipt,
    Status,
    Step,
    StepKind,
    ToolCall,
    Trial,
    Wait,
)
from spanproof_collector.model.values import Json
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.suites import Suite, parse_suite
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.runner.judging import aborted, left_out, solved

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def call(
    name: str = "issue_refund",
    arguments: Json = None,
    *,
    state: EffectState = "none",
    effect_class: EffectClass | None = None,
    span_id: str = "00000000000000aa",
    destination: str | None = None,
    resource: str | None = None,
    operation: str | None = None,
    key: str | None = None,
    observed: str | None = None,
    executed: Executed = "yes",
    captured: bool = True,
) -> ToolCall:
    """Return a call; ``observed`` gives it a receipt that says so."""
    receipts: tuple[Receipt, ...] = ()
    if observed is not None and state in ("verified", "failed"):
        receipts = (
            Receipt(
                state="verified" if state == "verified" else "failed", observed=observed, span_id=span_id, time=START
            ),
        )
    return ToolCall(
        name=name,
        call_id=None,
        arguments=arguments if captured else None,
        arguments_source="span" if captured else None,
        result=None,
        result_source=None,
        error=None,
        executed=executed,
        effect=Effect(
            effect_class=effect_class or ("read" if state == "none" else "write"),
            class_source="declared",
            state=state,
            reason=state,
            destination=destination,
            resource=resource,
            operation=operation,
            idempotency_key=key,
        ),
        receipts=receipts,
        span_ids=(span_id,),
        started_at=START,
    )


def step(kind: StepKind = "tool_call", name: str = "search") -> Step:
    """Return a step."""
    return Step(
        kind=kind, trace_id="t" * 32, span_id="00000000000000bb", name=name, started_at=START, ended_at=START + 1
    )


def world(
    phase: Literal["before", "after"],
    tables: Mapping[str, Sequence[Mapping[str, Json]]] | None = None,
    files: Mapping[str, str] | None = None,
    *,
    digest_matches: bool | None = True,
    text: str | None = None,
) -> EndState:
    """Return a recorded end state."""
    state: dict[str, object] = {}
    if tables is not None:
        state["tables"] = tables
    if files is not None:
        state["files"] = files
    return EndState(
        phase=phase,
        state=json.dumps(state) if text is None else text,
        digest=None,
        digest_matches=digest_matches,
        span_id="00000000000000cc",
        time=START if phase == "before" else START + SECOND,
    )


def progress(useful: int, active: int) -> tuple[Progress, ...]:
    """Return active windows, the first ones with evidence gained."""
    return tuple(
        Progress(key="done", delta=float(index < useful), window="active", span_id=f"{index:016x}", time=START + index)
        for index in range(active)
    )


def quality(score: float, revision: str = "1") -> Quality:
    """Return a score."""
    return Quality(score=score, grader="rubric", revision=revision, span_id="00000000000000dd", time=START)


def wait(
    *, owner: str | None = "approver", decision: str | None = "approve", deadline: int | None = START + 3600 * SECOND
) -> Wait:
    """Return a wait, legitimate where nothing is taken from it."""
    return Wait(
        owner=owner, decision=decision, deadline=deadline, resumable=True, span_id="00000000000000ee", time=START
    )


def trial(
    trial_id: str = "trial-1",
    *,
    task_id: str | None = "task-1",
    variant: str | None = None,
    suite: str | None = None,
    status: Status = "complete",
    status_reason: str | None = None,
    claim: ClaimState = "success",
    calls: Sequence[ToolCall] = (),
    steps: Sequence[Step] = (),
    usage: Usage | None = None,
    usd: str | None = "0.10",
    answer: str | None = "Done.",
    end_states: Sequence[EndState] = (),
    windows: Sequence[Progress] = (),
    scores: Sequence[Quality] = (),
    waits: Sequence[Wait] = (),
    understood: bool = True,
    root_missing: bool = False,
    calls_whole: bool = True,
    unmetered_calls: int = 0,
    content: Literal["captured", "partial", "not_captured"] = "captured",
    models: Sequence[str] = ("gpt-4o",),
) -> Trial:
    """Return a whole and finished trial that claims success, unless it is said otherwise."""
    return Trial(
        trial_id=trial_id,
        project="default",
        session_id=None,
        trace_ids=("t" * 32,),
        source="otlp",
        path=None,
        dialects=("genai",) if understood else (),
        task_id=task_id,
        attempt=None,
        variant=variant,
        suite=suite,
        agent_name=None,
        agent_version=None,
        models=tuple(models),
        started_at=START,
        ended_at=START + 60 * SECOND,
        status=status,
        status_reason=status_reason,
        joined_by="label",
        steps=(tuple(steps) or (step("model_call"),)) if understood else (),
        tool_calls=tuple(calls),
        final_answer=answer,
        claim=Claim(state=claim, source="declared", rule="declared", span_id="00000000000000ff"),
        usage=usage or Usage(),
        cost=Cost(usd=None if usd is None else Decimal(usd), covered=usd is not None, reason=None),
        completeness=Completeness(
            content=content,
            root_missing=root_missing,
            dropped_attributes=0,
            truncated_values=0,
            unclaimed_spans=0,
            calls_whole=calls_whole,
            unmetered_calls=unmetered_calls,
        ),
        waits=tuple(waits),
        progress=tuple(windows),
        quality=tuple(scores),
        end_states=tuple(end_states),
    )


def assessed(one: Trial, outcome: Verdict = "verified", *, reason: str = "no_verifier") -> Assessment:
    """Return a trial with a verdict that is given, not found."""
    found = Outcome(state=outcome, reason=reason if outcome == "unavailable" else outcome, verifier="test")
    settled, why = solved(one, found, (), frozenset())
    return Assessment(
        trial=one,
        task=None,
        outcome=found,
        solved=settled,
        solved_reason=why,
        false_success={"failed": True, "verified": False}.get(outcome) if one.claim.state == "success" else None,
        left_out=left_out(one),
        aborted=aborted(one, ()),
    )


def suite(*tasks: Mapping[str, object], suite_id: str = "shop") -> Suite:
    """Return a suite of these tasks."""
    return parse_suite(json.dumps({"id": suite_id, "tasks": list(tasks)}), name="suite.json")
