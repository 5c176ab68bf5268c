"""The report and its trials as JSON, in the shapes of the machine-readable interface."""

from spanproof_collector.model.trials import (
    Claim,
    Progress,
    Quality,
    Receipt,
    RecordedChanges,
    Refusal,
    ToolCall,
    Wait,
)
from spanproof_collector.trials.claims import LABELED_SET, measured
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.canonical import Layout, Plain, plain, written
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.reports.isolation import isolation
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.trust import card_json
from spanproof_evaluators.stats.intervals import wilson


def line(value: Plain) -> str:
    """Return a value as one line of JSON; ASCII, so that no terminal and no lone surrogate can spoil it.

    Raises:
        ValueError: it holds NaN or an infinity, which are no JSON.
    """
    return written(value, Layout())


def trial_json(one: Assessment) -> dict[str, Plain]:
    """Return a trial with its verdicts. Times are Unix nanoseconds as text, money decimal text, absent is null."""
    trial, outcome = one.trial, one.outcome
    return {
        "trial_id": trial.trial_id,
        "session_id": trial.session_id,
        "user_id": trial.user_id,
        "trace_ids": list(trial.trace_ids),
        "project": trial.project,
        "source": trial.source,
        "path": trial.path,
        "dialects": list(trial.dialects),
        "task_id": trial.task_id,
        "attempt": trial.attempt,
        "variant": trial.variant,
        "suite": trial.suite,
        "labels": dict(trial.labels),
        "agent": {"name": trial.agent_name, "version": trial.agent_version, "models": list(trial.models)},
        "started_at": _moment(trial.started_at, timed=trial.timed),
        "ended_at": _moment(trial.ended_at, timed=trial.timed),
        "settled": one.settled,
        "last_received_at": None if trial.received_at is None else str(trial.received_at),
        "status": trial.status,
        "status_reason": trial.status_reason,
        "solved": one.solved,
        "solved_reason": one.solved_reason,
        "joined_by": trial.joined_by,
        "steps": [
            {
                "kind": step.kind,
                "span_id": step.span_id,
                "name": step.name,
                "started_at": _moment(step.started_at, timed=step.timed),
            }
            for step in trial.steps
        ],
        "tool_calls": [_call(call) for call in trial.tool_calls],
        "prompt": trial.prompt,
        "final_answer": trial.final_answer,
        "claim": {
            "state": trial.claim.state,
            "source": trial.claim.source,
            "rule": trial.claim.rule,
            "span_id": trial.claim.span_id,
            "measured": _measured(trial.claim),
        },
        "outcome": {
            "state": outcome.state,
            "effect_of_trial": outcome.effect_of_trial,
            "reason": outcome.reason,
            "pre_state": outcome.pre_state,
            "verifier": outcome.verifier,
            "score": outcome.score,
            "definition": outcome.definition,
            "checks": [_evidence(check) for check in outcome.checks],
            "details": plain(outcome.details),
        },
        "false_success": one.false_success,
        "usage": {
            "input_tokens": trial.usage.input_tokens,
            "output_tokens": trial.usage.output_tokens,
            "cache_read_tokens": trial.usage.cache_read_tokens,
            "cache_write_tokens": trial.usage.cache_write_tokens,
            "reasoning_tokens": trial.usage.reasoning_tokens,
        },
        "cost": {
            "usd": None if trial.cost.usd is None else format(trial.cost.usd, "f"),
            "covered": trial.cost.covered,
            "reason": trial.cost.reason,
            "catalogue": trial.cost.catalogue,
            "source": trial.cost.source,
        },
        "completeness": {
            "content": trial.completeness.content,
            "root_missing": trial.completeness.root_missing,
            "dropped_attributes": trial.completeness.dropped_attributes,
            "truncated_values": trial.completeness.truncated_values,
            "unclaimed_spans": trial.completeness.unclaimed_spans,
            "calls_whole": trial.completeness.calls_whole,
            "unmetered_calls": trial.completeness.unmetered_calls,
        },
        "receipts": [_evidence(receipt) for receipt in trial.receipts],
        "waits": [_evidence(wait) for wait in trial.waits],
        "refusals": [_evidence(refusal) for refusal in trial.refusals],
        "progress": [_evidence(window) for window in trial.progress],
        "quality": [_evidence(quality) for quality in trial.quality],
        "foreign_results": [plain(result) for result in trial.foreign_results],
        "user_tool_calls": [_call(call) for call in trial.user_calls],
        "task_definition": plain(trial.task_definition),
        "recorded_changes": [_evidence(changes) for changes in trial.recorded_changes],
    }


def _evidence(value: Check | Receipt | Wait | Refusal | Progress | Quality | RecordedChanges) -> dict[str, Plain]:
    """Return a piece of evidence, its times as text."""
    found = plain(value)
    if not isinstance(found, dict):
        raise TypeError(f"{type(value).__name__} is no dataclass")
    return {key: str(item) if key in ("time", "deadline") and item is not None else item for key, item in found.items()}


def _moment(at: int, *, timed: bool) -> str | None:
    """Unix nanoseconds; ``None`` where nobody recorded when: a span that tells no time has 0 on the wire."""
    return str(at) if timed and at else None


def _measured(claim: Claim) -> Plain:
    """Return how the rule that read a claim did on labeled messages; ``None`` where nobody measured it."""
    known = measured(claim.rule) if claim.source == "text" else None
    if known is None:
        return None
    return {
        "set": LABELED_SET,
        "read": known.read,
        "right": known.right,
        "interval": list(wilson(known.right, known.read)),
    }


def _call(call: ToolCall) -> dict[str, Plain]:
    """Return one call."""
    effect = call.effect
    return {
        "name": call.name,
        "call_id": call.call_id,
        "arguments": plain(call.arguments),
        "result": plain(call.result),
        "error": call.error,
        "executed": call.executed,
        "effect": {
            "class": effect.effect_class,
            "class_source": effect.class_source,
            "state": effect.state,
            "reason": effect.reason,
            "destination": effect.destination,
            "resource": effect.resource,
            "operation": effect.operation,
            "idempotency_key": effect.idempotency_key,
            "resolved_by": effect.resolved_by,
            "looked_up_by": list(effect.looked_up_by),
            "taken_for": effect.taken_for,
        },
        "exit_code": call.exit_code,
        "arguments_source": call.arguments_source,
        "result_source": call.result_source,
        "asked_by": call.asked_by,
        "span_ids": list(call.span_ids),
    }


def result_json(trial_id: str, result: Result) -> dict[str, Plain]:
    """Return one evaluator's word on one trial."""
    return {
        "trial_id": trial_id,
        "evaluator": result.evaluator,
        "version": result.version,
        "kind": result.kind,
        "state": result.state,
        "score": result.score,
        "label": result.label,
        "reason": result.reason,
        "explanation": result.explanation,
        "span_ids": list(result.span_ids),
        "details": plain(result.details),
    }


def report_json(report: Report) -> dict[str, Plain]:
    """Return the whole report."""
    return {
        "suite": {"id": report.suite_id, "hash": report.suite_hash} if report.suite_id is not None else None,
        "filter": report.filter,
        "by": report.by,
        "certificate": report.certificate,
        "isolation": dict(isolation(report.assessments)) or None,
        "trust_card": None if report.trust is None else card_json(report.trust, suite_hash=report.suite_hash),
        "variants": {
            variant.name: {
                "trials": variant.trials,
                "tasks": variant.tasks,
                "measures": {name: measure.to_json() for name, measure in variant.measures.items()},
                "categories": {name: measure.to_json() for name, measure in variant.categories.items()},
                "telemetry": {name: measure.to_json() for name, measure in variant.telemetry.items()},
                "judged": {name: measure.to_json() for name, measure in variant.judged.items()},
            }
            for variant in report.variants
        },
        "baseline": None
        if report.before is None
        else {
            "name": report.before.name,
            "measures": {name: measure.to_json() for name, measure in report.before.measures.items()},
            "categories": {name: measure.to_json() for name, measure in report.before.categories.items()},
        },
        "gates": {variant.name: variant.decision.to_json() for variant in report.variants},
        "inversions": list(report.inversions),
        "judge_flags": list(judge_flags(report.assessments)),
        "results": [
            result_json(one.trial.trial_id, result) for one in report.assessments for result in one.all_results
        ],
        "trials": [trial_json(one) for one in report.assessments],
    }
