"""Effects: what a call may change, by whose word, and what is known of it (docs/effects.md).

``names`` and ``classes`` give the class, ``outcomes`` and ``exit_codes`` say whether it ran, ``receipts``,
``environment`` and ``lookups`` what settles its state; ``states`` puts it together. The catalogue of tools is read in
``catalogue_file``.
"""

from spanproof_collector.trials.effects.catalogue_file import parse_catalogue, read_catalogue
from spanproof_collector.trials.effects.identity import key_in
from spanproof_collector.trials.effects.names import infer_class, runs_commands, words_of
from spanproof_collector.trials.effects.outbound import unanswered
from spanproof_collector.trials.effects.states import Entry, ledger

__all__ = [
    "Entry",
    "infer_class",
    "key_in",
    "ledger",
    "parse_catalogue",
    "read_catalogue",
    "runs_commands",
    "unanswered",
    "words_of",
]
