"""Reports and trials in the terminal. Everything from a trace is text, never markup."""

from spanproof_evaluators.reports.terminal.comparison import print_comparison
from spanproof_evaluators.reports.terminal.decision import print_decision
from spanproof_evaluators.reports.terminal.grid import print_grid
from spanproof_evaluators.reports.terminal.listing import print_trials
from spanproof_evaluators.reports.terminal.report import print_report
from spanproof_evaluators.reports.terminal.trial import print_trial

__all__ = ["print_comparison", "print_decision", "print_grid", "print_report", "print_trial", "print_trials"]
