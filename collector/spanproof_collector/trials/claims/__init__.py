"""Claims: what the agent declared, and which rule read it."""

from spanproof_collector.trials.claims.errors import LABELED_SET, MEASURED, Measured, measured
from spanproof_collector.trials.claims.reading import RECORDING_CUT, Said, read_claim
from spanproof_collector.trials.claims.text import of_text
from spanproof_collector.trials.claims.words import ends_the_work

__all__ = [
    "LABELED_SET",
    "MEASURED",
    "RECORDING_CUT",
    "Measured",
    "Said",
    "ends_the_work",
    "measured",
    "of_text",
    "read_claim",
]
