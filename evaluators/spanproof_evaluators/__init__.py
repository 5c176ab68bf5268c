"""The evaluators: trials in, verdicts out."""
