"""Trials into the store as rows: what rules in SQL rest on (``trials``, ``trial_traces``; docs/rules-in-sql.md).

A row holds facts and hashes, no text that a span sent. It is written whenever a trial is read to be evaluated, together
with all that shares a trace with it, so that no two readings of one trace stand side by side.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, TypeAlias

from spanproof_collector.model.spans import Span
from spanproof_collector.model.trials import Receipt, Trial
from spanproof_collector.store import Store
from spanproof_collector.trials import Component, Settling, Unit
from spanproof_evaluators.model.effects import attempts
from spanproof_evaluators.model.expected_effects import identity
from spanproof_evaluators.rules.budgets import STEPS
from spanproof_evaluators.rules.duplicate_effect import adds_up, change_of
from spanproof_evaluators.rules.trajectories import calls_of, changed, classes_of, declares, error_text
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.judging import left_out

Row: TypeAlias = dict[str, object]
_CENTS: Final = Decimal(1).scaleb(-18)
_WORD: Final[Mapping[bool | None, str]] = {True: "yes", False: "no", None: "unknown"}
_MOST_USD: Final = Decimal(10) ** 20


def hash_of(text: str) -> int:
    """Return the first eight bytes of a text's SHA-256, little end first; never 0, which says that nothing is recorded.

    In SQL: ``greatest(reinterpretAsUInt64(substring(SHA256(text), 1, 8)), 1)``.
    """
    return max(int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "little"), 1)


class Projecting:
    """Writes the rows of components that were read, some at a time.

    Args:
        store: where they go.
        unit: how sessions were split.
        at: when they are read, in Unix nanoseconds.
        settling: what counts as settled.
    """

    def __init__(self, store: Store, unit: Unit, at: int, settling: Settling) -> None:
        self._store = store
        self._unit = unit
        self._at = at
        self._settling = settling
        self._trials: list[Row] = []
        self._traces: list[Row] = []

    def add(self, component: Component, evidence: Mapping[int, str]) -> None:
        """Take a component: a row for each of its trials and for each of its traces.

        Args:
            component: what was read together.
            evidence: what ``stored.evidence_of`` said of the trials that are evaluated, by ``id`` of the trial.
        """
        shared: Row = {"unit": self._unit, "read_at": self._at}
        for member in component.members:
            trial = member.trial
            known = evidence.get(id(trial))
            settled = known is not None or self._settling.settled(trial, self._at)
            known = known or stored.evidence_of(trial)
            self._trials.append({**trial_row(trial), "evidence": known, "settled": settled, **shared})
        self._traces += [{**row, **shared} for row in _trace_rows(component)]

    def write(self) -> None:
        """Store what was taken. The trials first: without the row of its trace a trial is not current."""
        for table, rows in (("trials", self._trials), ("trial_traces", self._traces)):
            if rows:
                token = hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()
                self._store.insert(table, {name: [row[name] for row in rows] for name in rows[0]}, token)
        self._trials, self._traces = [], []


def _trace_rows(component: Component) -> Iterator[Row]:
    """Yield the rows of ``trial_traces``. Of records without a trace the number is that of all in the component."""
    trials: defaultdict[str, dict[str, None]] = defaultdict(dict)
    spans: Counter[str] = Counter()
    records: Counter[str] = Counter()
    for member in component.members:
        for item in member.items:
            trials[item.trace_id][_sound(member.trial.key)] = None
            (spans if isinstance(item, Span) else records)[item.trace_id] += 1
    for trace in component.traces:
        known = "" if trace.loose else trace.trace_id
        yield {
            "project": trace.project,
            "trace_id": trace.trace_id,
            "trials": list(trials[known]),
            "spans": spans[known],
            "log_records": records[known],
            "received": trace.received // 1_000_000,
        }


def trial_row(trial: Trial) -> Row:
    """Return a trial as a row of ``trials``, but for how and when it was read and its hash."""
    cost = trial.cost.usd
    tried = attempts(trial)
    errors = classes_of(trial)
    started = {step.span_id: step.started_at for step in trial.steps}
    return {
        "project": trial.project,
        "trial": _sound(trial.key),
        "trial_id": _sound(trial.trial_id),
        "joined_by": trial.joined_by,
        "task_id": _sound(trial.task_id or ""),
        "attempt_number": trial.attempt,
        "variant": _sound(trial.variant or ""),
        "suite": _sound(trial.suite or ""),
        "agent": _sound(trial.agent_name or ""),
        "models": [_sound(model) for model in trial.models],
        "started_at": trial.started_at,
        "ended_at": trial.ended_at,
        "timed": trial.timed,
        "status": trial.status,
        "status_reason": _sound(trial.status_reason or ""),
        "left_out": left_out(trial) or "",
        "understood": trial.understood,
        "root_missing": trial.completeness.root_missing,
        "calls_whole": trial.completeness.calls_whole,
        "unmetered_calls": trial.completeness.unmetered_calls,
        "steps": sum(step.kind in STEPS for step in trial.steps),
        "model_calls": sum(step.kind == "model_call" for step in trial.steps),
        "input_tokens": trial.usage.input_tokens,
        "output_tokens": trial.usage.output_tokens,
        "cost_usd": None if cost is None or abs(cost) >= _MOST_USD else cost.quantize(_CENTS, rounding=ROUND_HALF_UP),
        "cost_covered": trial.cost.covered,
        "claim": trial.claim.state,
        "claim_source": trial.claim.source,
        "claim_rule": _sound(trial.claim.rule),
        "claim_span": trial.claim.span_id or "",
        **_calls(trial),
        "declared_at": trial.declared_at,
        "inference.span": [one.span_id for one in trial.inferences],
        "inference.agent": [_sound(one.agent or "") for one in trial.inferences],
        "inference.own": [one.own for one in trial.inferences],
        "inference.failed": [one.failed for one in trial.inferences],
        "inference.prompted": [_WORD[one.prompted] for one in trial.inferences],
        "inference.started_at": [started.get(one.span_id, 0) for one in trial.inferences],
        "error.span": [*errors],
        "error.class": [*errors.values()],
        "attempt.tool": [_sound(one.tool) for one in tried],
        "attempt.state": [one.state for one in tried],
        "attempt.reason": [_sound(one.reason) for one in tried],
        "attempt.span": [one.span_id or "" for one in tried],
    }


def _calls(trial: Trial) -> Mapping[str, object]:
    calls, known = trial.tool_calls, calls_of(trial)
    return {
        "call.tool": [_sound(call.name) for call in calls],
        "call.span": [call.span_ids[0] if call.span_ids else "" for call in calls],
        "call.started_at": [call.started_at for call in calls],
        "call.executed": [call.executed for call in calls],
        "call.class": [call.effect.effect_class for call in calls],
        "call.state": [call.effect.state for call in calls],
        "call.reason": [_sound(call.effect.reason) for call in calls],
        "call.taken_for": [call.effect.taken_for or "" for call in calls],
        "call.watched": [call.effect.watched or any(map(_compared, call.receipts)) for call in calls],
        "call.signature": [0 if text is None else hash_of(text) for text in known.signatures],
        "call.identity": [
            0 if call.arguments_source is None else hash_of(identity(call.name, call.arguments)) for call in calls
        ],
        "call.change": [0 if (what := change_of(call)) is None else hash_of(what) for call in calls],
        "call.key": [0 if (key := call.effect.idempotency_key) is None else hash_of(key) for call in calls],
        "call.adds_up": [adds_up(call) for call in calls],
        "call.receipts": [len(call.receipts) for call in calls],
        "call.observed": [[hash_of(seen) for seen in _observed(call.receipts)] for call in calls],
        "call.asked_by": [call.asked_by or "" for call in calls],
        "call.declares": [declares(trial, call) for call in calls],
        "call.changed": [_WORD[changed(call)] for call in calls],
        "call.answered": [call.result_source is not None or call.exit_code is not None for call in calls],
        "call.answer": [0 if answer is None else hash_of(answer) for answer in map(known.answer, range(len(calls)))],
        "call.error": [0 if (text := error_text(call)) is None else hash_of(text) for call in calls],
    }


def _observed(receipts: Iterable[Receipt]) -> list[str]:
    """Return what receipts of effects that took place saw."""
    return [one.observed for one in receipts if one.state == "verified" and one.observed is not None]


def _compared(receipt: Receipt) -> bool:
    """Return whether somebody saw the world before and after."""
    return receipt.pre_state is not None and receipt.post_state is not None


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
