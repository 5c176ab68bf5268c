"""Judges: a model is asked closed questions about an answer; it sees nothing of how the answer came about."""
