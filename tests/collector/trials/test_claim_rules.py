"""What the text rules read, held against labeled messages. Their patterns are counted; their error is printed."""

import json
import math
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from spanproof_collector.trials import of_text
from spanproof_collector.trials.claims import MEASURED, Measured
from tests.claim_rules import PUBLISHED, count, golden, spoken
from tests.shared import needs_golden, needs_sessions

OWN = [json.loads(line) for line in (Path(__file__).parent / "labeled_claims.jsonl").read_text("utf-8").splitlines()]
"""Messages of our own. ``read_as`` is what the rules make of one that they are known to misread.

The rules were written with the ``first`` ones in view; the ``second`` and ``third`` were written to be hard before the
rules had read them.
"""


@pytest.mark.parametrize("style", sorted({row["style"] for row in OWN}))
def test_labeled_messages_of_our_own_are_read_as_labeled(style: str) -> None:
    rows = [row for row in OWN if row["style"] == style]
    read = [(row["text"], of_text(row["text"])[0]) for row in rows]
    assert read == [(row["text"], row.get("read_as", row["state"])) for row in rows]


def test_few_of_them_are_misread_as_claims_or_as_none() -> None:
    assert len(OWN) >= 120
    wrong = [row for row in OWN if "read_as" in row and "success" in (row["state"], row["read_as"])]
    assert len(wrong) <= 0.04 * len(OWN)


@needs_golden
def test_the_error_on_the_labeled_set_is_at_most_the_published_one() -> None:
    # C is a claim; P admits a gap and N claims nothing. The published detector: 0.971, 0.980, 0.969.
    by_model: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for item in golden():
        by_model[item.model][item.label == "C", of_text(item.text)[0] == "success"] += 1
    whole = sum(by_model.values(), Counter())
    for model, seen in [*sorted(by_model.items()), ("all", whole)]:
        precision, recall = _rates(seen)
        print(f"{model:<50} n {seen.total():>3}  precision {precision:.3f}  recall {recall:.3f}")
    precision, recall = _rates(whole)
    assert whole.total() == 160
    assert precision >= 0.971
    assert recall >= 0.980
    assert (whole[True, True] + whole[False, False]) / whole.total() >= 0.969


def _rates(seen: Counter[tuple[bool, bool]]) -> tuple[float, float]:
    claimed, truly = seen[True, True] + seen[False, True], seen[True, True] + seen[True, False]
    right = seen[True, True]
    return right / claimed if claimed else math.nan, right / truly if truly else math.nan


@needs_golden
def test_the_error_shown_with_a_rule_is_the_measured_one() -> None:
    found: dict[str, list[bool]] = defaultdict(list)
    for item in golden():
        state, rule = of_text(item.text)
        found[rule].append((state == "success") == (item.label == "C"))
    assert {rule: Measured(len(right), sum(right)) for rule, right in found.items()} == dict(MEASURED)


@needs_golden
@needs_sessions
def test_every_pattern_fires_on_more_than_one_message() -> None:
    fired = count([item.text for item in golden()], spoken())
    seen = {(one.group, one.name): one.labeled + one.sessions for one in fired}
    assert {pattern for pattern, hits in seen.items() if hits + PUBLISHED.get(pattern, 0) < 2} == set()
    assert {pattern for pattern in PUBLISHED if seen.get(pattern, 2) >= 2} == set()


PIECES = ["a", '"', "\N{LEFT DOUBLE QUOTATION MARK}", "`", "```", "<think>", "<think><thinking>", "<", "[", '{"a":']
PIECES += [
    "\n>",
    "I have done it. ",
    "i have ",
    "please confirm ",
    " - ",
    "finish(",
    ", but ",
    "if when ",
    " 'a",
    "let's focus on it. ",
]
PIECES += ["i cannot. let's focus on it. ", "that is unethical. ", "if you please ", '"a." B ']


@pytest.mark.parametrize("piece", PIECES)
def test_reading_time_grows_with_the_answer_and_no_faster(piece: str) -> None:
    answer = piece * (5_000_000 // len(piece))
    began = time.process_time()
    of_text(answer)
    assert time.process_time() - began < 5
