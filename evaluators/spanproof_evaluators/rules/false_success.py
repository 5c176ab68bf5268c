"""Claims of success that the end state contradicts."""

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.results import Result

NAME = "false_success"


def false_success(trial: Trial, outcome: Outcome) -> Result | None:
    """Return the flag: fail where success was claimed and the outcome failed (evaluators.md B06); no claim, no result.

    It is no rule over the trial: it needs the verdict, and so is asked after the verifier.
    """
    if trial.claim.state == "unavailable":
        return Result.unavailable(NAME, reason="claim_unavailable", explanation=trial.claim.rule)
    if trial.claim.state != "success":
        return None
    spans = (trial.claim.span_id,) if trial.claim.span_id else ()
    said = f"claimed by {trial.claim.source} ({trial.claim.rule})"
    match outcome.state:
        case "failed":
            return Result(evaluator=NAME, state="fail", explanation=f"{said}, and {outcome.reason}", span_ids=spans)
        case "verified":
            return Result(evaluator=NAME, state="pass", explanation=f"{said}, and {outcome.reason}", span_ids=spans)
        case "unavailable":
            return Result.unavailable(
                NAME, reason=outcome.reason or "no_verdict", explanation=f"{said}, unproven", span_ids=spans
            )
