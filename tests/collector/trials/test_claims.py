"""What the agent declared."""

import json

import pytest

from spanproof_collector.model.trials import ClaimState
from spanproof_collector.store import Store
from spanproof_collector.trials import of_text
from tests.factories import agent, asked, chat, event, said, span, traces
from tests.shared import GOLDEN, needs_golden
from tests.storing import trial_of

DONE = chat([said("user", "refund")], [said("assistant", "I have refunded order O-1.")])


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("Order ORD-1 was refunded 42.50 USD.", "success"),
        ("Done - your refund has been issued.", "success"),
        ("Your meeting with Ann is on Friday at 10:00.", "success"),
        ("<thinking>I could not find it</thinking>I've sent the mail.", "success"),
        ("I've sent the mail. Is there anything else I can help with?", "success"),
        ("I booked the flight, but I could not reserve the hotel.", "partial"),
        ("I could not refund the order: it was not approved.", "failure"),
        ("I'm sorry, I don't have access to the calendar.", "failure"),
        ("Could you please provide the order number?", "none"),
        ("Let me look up the order first.", "none"),
        ("Would you like me to proceed with the refund?", "none"),
        ("", "none"),
        ("null", "none"),
        ("Заказ возвращён.", "unavailable"),
    ],
)
def test_text_rules_read_what_an_answer_claims(answer: str, state: ClaimState) -> None:
    assert of_text(answer)[0] == state


def test_a_declared_claim_outranks_the_text(store: Store) -> None:
    declared = event("spanproof.claim", {"spanproof.claim.state": "failure"}, at=3)
    trial = trial_of(store, traces(span("run", agent(), events=[declared]), span("chat", DONE, parent="run")))
    assert (trial.claim.state, trial.claim.source) == ("failure", "declared")


def test_a_run_that_ended_in_an_error_claims_nothing(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent(), error="boom", seconds=5), span("chat", DONE, parent="run")))
    assert (trial.status, trial.claim.state, trial.claim.source) == ("error", "none", "termination")


def test_a_claim_is_unavailable_where_content_was_not_captured(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent(), seconds=5), span("chat", chat(None, None), parent="run")))
    assert (trial.claim.state, trial.claim.source, trial.final_answer) == ("unavailable", "none", None)


def test_a_run_that_ended_on_a_tool_call_has_no_final_answer(store: Store) -> None:
    trial = trial_of(store, traces(span("chat", chat([said("user", "x")], [asked("pay", {}, "c1")]))))
    assert (trial.claim.state, trial.claim.rule, trial.final_answer) == ("none", "no_final_answer", None)


@needs_golden
def test_claims_of_labeled_messages_are_read_with_small_error() -> None:
    # 160 final messages labeled by hand (golden G22, dev split). A claim is "C"; "P" admits a gap and is none.
    labeled = json.loads((GOLDEN / "G22_claim_detection_dev.json").read_text())["inputs"]["labelled"]
    read = [(of_text(item["final"])[0] == "success", item["label"] == "C") for item in labeled]
    true_positives = sum(claimed and truth for claimed, truth in read)
    precision = true_positives / sum(claimed for claimed, _ in read)
    recall = true_positives / sum(truth for _, truth in read)
    print(f"claims on {len(read)} labeled messages: precision {precision:.3f}, recall {recall:.3f}")
    # the file's own detector: 0.971 and 0.980
    assert precision >= 0.971
    assert recall >= 0.971
