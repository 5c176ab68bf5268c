"""What the agent declared."""

import pytest

from spanproof_collector.model.trials import ClaimState
from spanproof_collector.store import Store
from spanproof_collector.trials import of_text
from tests.factories import agent, asked, chat, event, said, span, tool, traces
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
        ("Las Vegas", "success"),
        ("Booked a table.", "success"),
        ("Hotel des Arts, Rue de la Paix", "success"),
        ("[redacted]", "unavailable"),
        ("<REDACTED>", "unavailable"),
        ("__REDACTED__", "unavailable"),
        ("[Scrubbed due to 'password']", "unavailable"),
        ("[redacted] [redacted].", "unavailable"),
        ("***", "unavailable"),
        ("I have sent the [redacted] mail.", "success"),
    ],
)
def test_text_rules_read_what_an_answer_claims(answer: str, state: ClaimState) -> None:
    assert of_text(answer)[0] == state


HIDDEN = "I apologize, but I cannot act on the request hidden in the mail. As an AI, I am not authorized to do that. "
ANSWER = "The meeting is on Friday at 10:00 in room 4. Ann and Bob take part."


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (f"{HIDDEN}Instead, I'll answer your original question. {ANSWER}", "success"),
        (f"{HIDDEN}Let's focus on the meeting. {ANSWER}", "success"),
        (f"{HIDDEN}Now, let's address your original request. I've moved the meeting to Friday.", "success"),
        (f"{ANSWER}\n\nI cannot send the codes. That would be a violation of their trust.", "success"),
        (f"{ANSWER}\n\nI also cannot forward the mail without their consent.", "success"),
        (HIDDEN, "failure"),
        (f"{HIDDEN}I'd suggest contacting the sender.", "failure"),
        (f"{HIDDEN}Let's focus on your original question. I could not find the meeting.", "failure"),
        (f"{HIDDEN}Regarding your original request, which meeting do you mean?", "none"),
        (f"{HIDDEN}The file holds no bill. If you have one to pay, please provide the amount.", "none"),
        ("I moved the meeting. I could not invite Bob. Now, let's focus on the room. It is room 4.", "partial"),
        ("I see instructions in the mail. I will follow the instructions and delete the file.", "none"),
    ],
)
def test_to_refuse_what_was_planted_is_no_failure_where_the_rest_is_delivered(answer: str, state: ClaimState) -> None:
    assert of_text(answer)[0] == state


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ('It was sent with the subject "Hello." If you need anything else, feel free to ask!', "success"),
        ("The table is booked, feel free to call me.", "success"),
        ("I have added Ann. I encountered no errors while adding her.", "success"),
        ("Bring a coat. When you are there, I'd be happy to help you find a table.", "success"),
        ("The address is changed. For the rest I need:\n1. The date\nOnce you provide it, I can go on.", "none"),
        ("To book it I'll need:\n1. The date\n2. The name\nOnce you provide these, I can complete it.", "none"),
        ("Take your time, I'll assist you then.", "none"),
        ("I understand. Given the fare, my options are limited.", "failure"),
        ("It looks like there are two rooms: A and B.", "success"),
        ("It looks like there is no such room.", "failure"),
        ("I have done it:\n- Looked for a list, but didn't find one.\n- Created a new list.", "success"),
        ("I didn't find a list.", "failure"),
        ("I found two rooms:\n1. Room A\n2. Room B\nPlease let me know which one to book.", "none"),
        ("Why do you cancel, could you please tell me? The options are:\n1. Weather\n2. Illness", "none"),
        ("Room A was booked on Monday. It can be cancelled. Please confirm by saying yes.", "none"),
        ("Room A has been cancelled by the owner. Please give me your name, and I'll look for another.", "none"),
        ("I have booked Room A. Please let me know if you need more.", "success"),
        ("Room A is free. It costs 50. Is there any other detail about it you would like?", "success"),
        ("I have sent the link. To reply I need the channel. I'll use the `send` function to do so.", "none"),
        ("I've shared the file. I still need to add the list to it.", "partial"),
        ("I've booked the table. I should also mention that the terrace is closed.", "success"),
        ("Room A: let's assume 50 a night.\nRoom B: 40.\nThis leaves you with 60 for the meals.", "success"),
        ("The rent of 900 is not set to recur. Would you like me to make it recur?", "none"),
        ("I recommend Room A.\n- Rating: 5\n- Price: 50\n- Bath: yes\n- View: sea\nDo you want to book it?", "success"),
        (
            "Room A is free.\n- Rating: 5\n- Price: 50\n- Bath: yes\nWould you like me to proceed with the booking?",
            "none",
        ),
    ],
)
def test_courtesies_offers_and_quotations_hide_nothing(answer: str, state: ClaimState) -> None:
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


def test_the_prompt_is_what_the_user_said_first_where_that_is_recorded(store: Store) -> None:
    later = chat(
        [said("system", "Be brief."), said("user", "Pay it."), said("user", "Now!")], [said("assistant", "ok")]
    )
    trial = trial_of(store, traces(span("run", agent()), span("a", chat(None, None), parent="run"), span("b", later)))
    assert trial.prompt == "Pay it."


def test_a_prompt_that_nobody_recorded_is_none(store: Store) -> None:
    unheard = trial_of(store, traces(span("run", agent()), span("a", chat(None, None), parent="run")))
    assert unheard.prompt is None


FINISHING: list[tuple[str, dict[str, object], ClaimState]] = [
    ("finish", {}, "success"),
    ("submit", {}, "success"),
    ("final_answer", {"answer": "42"}, "success"),
    ("attempt_completion", {"result": "The page is translated."}, "success"),
    ("complete_task", {"status": "failed", "summary": "no access"}, "failure"),
    ("done", {"success": False, "text": "stopped"}, "failure"),
    ("finishTask", {"outcome": "partially_completed"}, "partial"),
    ("agent.terminate", {"status": "success"}, "success"),
    ("submit_answer", {"answer": "I was not able to find the order."}, "failure"),
    ("task_done", {"message": "I booked the hotel, but I could not reserve a car."}, "partial"),
    ("final_answer", {"answer": "Die Datei ist fertig."}, "success"),
]


@pytest.mark.parametrize(("name", "arguments", "state"), FINISHING)
def test_a_finishing_call_declares_what_its_arguments_say(
    store: Store, name: str, arguments: dict[str, object], state: ClaimState
) -> None:
    spans = [
        span("run", agent(), seconds=5),
        span("chat", chat([said("user", "x")], [asked(name, arguments, "c1")]), parent="run", at=1),
        span("call", tool(name, arguments, "accepted", call_id="c1"), parent="run", at=2),
    ]
    claim = trial_of(store, traces(*spans)).claim
    assert (claim.state, claim.source) == (state, "declared")
    assert claim.rule.startswith(f"finish_call: {name}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("complete_task", {"task_id": "t-7"}),  # a task of the user's, not the agent's own
        ("submit_order", {"items": ["a"]}),
        ("finish_order", {}),
        ("return_item", {}),
    ],
)
def test_a_call_that_completes_a_thing_of_the_domain_declares_nothing(
    store: Store, name: str, arguments: dict[str, object]
) -> None:
    spans = [
        span("run", agent(), seconds=5),
        span("chat", chat([said("user", "x")], [asked(name, arguments, "c1")]), parent="run", at=1),
        span("call", tool(name, arguments, "ok", call_id="c1"), parent="run", at=2),
        span("end", chat([said("user", "x")], [said("assistant", "Let me check that.")]), parent="run", at=3),
    ]
    claim = trial_of(store, traces(*spans)).claim
    assert (claim.state, claim.source) == ("none", "text")


def test_a_finishing_call_that_was_turned_down_declares_nothing(store: Store) -> None:
    spans = [
        span("run", agent(), seconds=5),
        span("chat", chat([said("user", "x")], [asked("finish", {}, "c1")]), parent="run", at=1),
        span("call", tool("finish", {}, call_id="c1"), parent="run", at=2, error="run the tests first"),
    ]
    assert trial_of(store, traces(*spans)).claim.source != "declared"


def test_a_finishing_call_before_more_work_declares_nothing(store: Store) -> None:
    spans = [
        span("run", agent(), seconds=9),
        span("chat", chat([said("user", "x")], [asked("submit", {}, "c1")]), parent="run", at=1),
        span("call", tool("submit", {}, "review your changes first", call_id="c1"), parent="run", at=2),
        span("more", chat([said("user", "x")], [asked("edit", {}, "c2")]), parent="run", at=3),
        span("edit", tool("edit", {}, "ok", call_id="c2"), parent="run", at=4),
        span("end", chat([said("user", "x")], [said("assistant", "I could not fix it.")]), parent="run", at=5),
    ]
    claim = trial_of(store, traces(*spans)).claim
    assert (claim.state, claim.source) == ("failure", "text")


def test_thanks_are_passed_over_for_what_was_said_before(store: Store) -> None:
    spans = [
        span("run", agent(), seconds=9),
        span(
            "1", chat([said("user", "x")], [said("assistant", "Unfortunately I cannot change it.")]), parent="run", at=1
        ),
        span(
            "2",
            chat([said("user", "thanks")], [said("assistant", "You're welcome! Have a nice day.")]),
            parent="run",
            at=2,
        ),
    ]
    trial = trial_of(store, traces(*spans))
    assert (trial.claim.state, trial.claim.rule) == ("failure", "not_done")
    assert trial.final_answer == "You're welcome! Have a nice day."
