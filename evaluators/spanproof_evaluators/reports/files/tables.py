"""One row a trial, as CSV and Parquet: every number of a report can be counted again from them."""

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.effects import attempts
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.telemetry import (
    inference_calls,
    steps_of,
    tool_steps,
    total_seconds,
    total_tokens,
    trial_seconds,
)
from spanproof_evaluators.reports.judge_flags import flags_of

if TYPE_CHECKING:
    import pyarrow

Cell: TypeAlias = str | int | float | bool | None

_TELEMETRY: Final[dict[str, type]] = {
    **dict.fromkeys(("total_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens"), int),
    "inference_calls": int,
    **dict.fromkeys(("operation_seconds", "agent_seconds", "tool_seconds", "seconds"), float),
}
_STATES: Final = ("verified", "failed", "reported", "unknown")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


def report_csv(report: Report) -> str:
    """Return the trials as CSV with a header. Absent is empty; text that begins like a formula gets an apostrophe."""
    rows = _rows(report)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(_columns(report)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def report_parquet(report: Report) -> bytes:
    """Return the trials as Parquet with a type a column; absent is null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = _columns(report)
    types: dict[type, pyarrow.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    table = pa.Table.from_pylist([{name: row[name] for name in columns} for row in _rows(report)], schema=schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _columns(report: Report) -> dict[str, type]:
    """Return the columns with their types: what is known of every trial, then a column an evaluator."""
    fixed: dict[str, type] = {
        **dict.fromkeys(("project", "trial_id", "session_id", "suite", "task_id", "category", "variant"), str),
        "attempt": int,
        **dict.fromkeys(("agent", "models", "started_at", "ended_at", "status", "status_reason"), str),
        **dict.fromkeys(("claim", "claim_source", "claim_rule", "outcome", "outcome_reason", "effect_of_trial"), str),
        **dict.fromkeys(("solved", "false_success", "aborted"), bool),
        "left_out": str,
        **dict.fromkeys(("steps", "tool_calls"), int),
        "calls_whole": bool,
        **{f"effects_{state}": int for state in _STATES},
        "effects_refused": int,
        **dict.fromkeys(("input_tokens", "output_tokens"), int),
        "cost_usd": str,
        "cost_covered": bool,
        "evidence": str,
        **{f"telemetry.{name}": kind for name, kind in _TELEMETRY.items()},
    }
    names = sorted({result.evaluator for one in report.assessments for result in (*one.results, *one.judges)})
    flagged = {"judge_flags": str} if any(one.judges for one in report.assessments) else {}
    return fixed | {f"result.{name}": str for name in names} | flagged


def _rows(report: Report) -> list[dict[str, Cell]]:
    found: list[dict[str, Cell]] = []
    for one in report.assessments:
        row: dict[str, Cell] = dict.fromkeys(_columns(report))
        row.update(_row(one))
        row.update({f"result.{result.evaluator}": result.state for result in (*one.results, *one.judges)})
        if one.judges:
            row["judge_flags"] = ", ".join(f"{evaluator}: {flag}" for evaluator, flag in flags_of(one))
        found.append({name: _sound(value) for name, value in row.items()})
    return found


def _row(one: Assessment) -> dict[str, Cell]:
    trial = one.trial
    states = Counter(attempt.state for attempt in attempts(trial))
    refused = sum(call.effect.state == "refused" for call in trial.tool_calls)
    seen = trial.understood  # of a trial that no dialect understands nobody knows whether it did nothing
    return {
        "project": trial.project,
        "trial_id": trial.trial_id,
        "session_id": trial.session_id,
        "suite": trial.suite,
        "task_id": trial.task_id,
        "category": (one.task.category or None) if one.task else None,
        "variant": trial.variant,
        "attempt": trial.attempt,
        "agent": trial.agent_name,
        "models": ", ".join(trial.models) or None,
        "started_at": str(trial.started_at) if trial.timed else None,
        "ended_at": str(trial.ended_at) if trial.timed else None,
        "status": trial.status,
        "status_reason": trial.status_reason,
        "claim": trial.claim.state,
        "claim_source": trial.claim.source,
        "claim_rule": trial.claim.rule,
        "outcome": one.outcome.state,
        "outcome_reason": one.outcome.reason,
        "effect_of_trial": one.outcome.effect_of_trial,
        "solved": one.solved,
        "false_success": one.false_success,
        "aborted": one.aborted,
        "left_out": one.left_out,
        "steps": len(trial.steps) if seen else None,
        "tool_calls": len(trial.tool_calls) if seen else None,
        "calls_whole": trial.completeness.calls_whole,
        **{f"effects_{state}": states[state] if seen else None for state in _STATES},
        "effects_refused": refused if seen else None,
        "input_tokens": trial.usage.input_tokens,
        "output_tokens": trial.usage.output_tokens,
        "cost_usd": None if trial.cost.usd is None else format(trial.cost.usd, "f"),
        "cost_covered": trial.cost.covered,
        "evidence": one.evidence or None,
        **{f"telemetry.{name}": value for name, value in _telemetry(trial).items()},
    }


def _telemetry(trial: Trial) -> dict[str, Cell]:
    """Return what the trial took; a sum of times only where each of them was recorded."""
    return {
        "total_tokens": total_tokens(trial),
        "cache_read_tokens": trial.usage.cache_read_tokens,
        "cache_creation_tokens": trial.usage.cache_write_tokens,
        "reasoning_tokens": trial.usage.reasoning_tokens,
        "inference_calls": inference_calls(trial),
        "operation_seconds": total_seconds(steps_of(trial, "model_call")),
        "agent_seconds": total_seconds(steps_of(trial, "agent_call")),
        "tool_seconds": total_seconds(tool_steps(trial)),
        "seconds": trial_seconds(trial),
    }


def _sound(value: Cell) -> Cell:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _harmless(value: Cell) -> Cell:
    """Return a cell that no spreadsheet runs; booleans as true and false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
