"""Reading shell command lines: words, what runs after what, and which exit codes come through."""

from spanproof_collector.trials.shell.runs import Run, runs_of
from spanproof_collector.trials.shell.tree import Simple, parse, simple_commands
from spanproof_collector.trials.shell.words import UnreadableError

__all__ = ["Run", "Simple", "UnreadableError", "parse", "runs_of", "simple_commands"]
