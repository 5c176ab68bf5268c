"""Reading shell command lines: words, what runs after what, and which exit codes come through."""

from spanproof_collector.trials.shell.runs import Run, runs_of

__all__ = ["Run", "runs_of"]
