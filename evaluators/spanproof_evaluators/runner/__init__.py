"""The runner: trials out of the store, verdicts into it, numbers out of both."""

from spanproof_evaluators.runner.assessing import assess, assess_trial, evaluate
from spanproof_evaluators.runner.comparing import compare, observed
from spanproof_evaluators.runner.gating import gate, night_evidence
from spanproof_evaluators.runner.measuring import measure
from spanproof_evaluators.runner.reporting import report

__all__ = ["assess", "assess_trial", "compare", "evaluate", "gate", "measure", "night_evidence", "observed", "report"]
