"""A report that is hard to lay out: many trials, long names without a break, scripts of both directions."""

from dataclasses import replace

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.runner import report
from tests.evaluators.factories import assessed, call, progress, quality, trial

VARIANTS = ("main", "feature/" + "x" * 90, "נסיון-שני של הזמנה", "🧪👩‍👩‍👧‍👦 試驗")
TASKS = (
    "refund",
    "urn:example:task:" + "0123456789abcdef" * 12,
    "החזר כספי להזמנה A-1",
    "استرداد المبلغ 42",
    "退款訂單" * 30,
    "👩🏽‍💻🇨🇭e" + "\u0301" * 4 + "🏳️‍🌈",
)


def crowded_report(attempts: int = 6) -> Report:
    """Return a report on each variant at each task: some false successes, unknown effects, no verdicts."""
    found = [
        _one(variant, task, attempt, number)
        for number, variant in enumerate(VARIANTS)
        for task in TASKS
        for attempt in range(attempts)
    ]
    bare = assessed(trial("only-spans", task_id=None, claim="unavailable", usd=None, understood=False), "unavailable")
    return report([*found, bare], None, described="label customer=" + "y" * 300)


def _one(variant: str, task: str, attempt: int, number: int) -> Assessment:
    kind = (attempt + number) % 6
    calls = [
        call(
            f"tool.{task}",
            {"a": task},
            state="verified",
            observed=f"row of {task}",
            destination=task,
            resource="r" * 120,
        )
    ]
    if kind == 1:
        calls.append(call("send_" + "y" * 80, state="unknown", destination=task))
    one = trial(
        f"{variant}/{task}/{attempt}",
        task_id=task,
        variant=variant,
        calls=calls,
        usd=None if kind == 2 else f"{1234567 * (kind == 3) + 0.012345}",
        scores=[quality(0.5 + attempt / 20)],
        windows=progress(attempt, 5),
        models=("gpt-4o", "a-model-of-a-very-long-name-" + "z" * 60),
    )
    if kind != 0:
        return assessed(one, "unavailable" if kind == 2 else "verified", reason="destination_given_up")
    checks = Verification.of(
        [Check(name=f'exactly 1 row of {task} where {{"order": "{"A" * 90}"}}', passed=False, seen=f"{task} " * 40)]
    )
    outcome = Outcome.of(Verification(state="verified"), checks, verifier="v", version="1")
    broken = Result(evaluator="forbidden_tools", state="fail", explanation=task * 3, span_ids=("00000000000000bb",) * 9)
    failed = assessed(one, "failed")
    return replace(failed, outcome=outcome, results=(broken,), solved=False, solved_reason=f"outcome failed: {task}")
