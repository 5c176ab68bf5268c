"""How a run ended, and what of its evidence is missing."""

from decimal import Decimal

import pytest

from spanproof_collector.store import Store
from tests.factories import T0, agent, asked, chat, event, log_record, logs, said, span, told, tool, traces
from tests.storing import trial_of, trials_of

OK = chat([said("user", "x")], [said("assistant", "Done.")])


def test_a_failed_run_is_an_error_even_where_the_root_span_is_not(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("workflow", {"gen_ai.operation.name": "invoke_workflow"}, seconds=9),
            span("run", agent(**{"error.type": "APIError"}), parent="workflow", seconds=8, error="broken"),
        ),
    )
    assert (trial.status, trial.status_reason) == ("error", "APIError")


def test_a_failed_inference_that_was_tried_again_is_no_failed_run(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", chat([said("user", "x")], None), key="m1", parent="run", error="503"),
            span("chat", OK, key="m2", parent="run", at=2),
        ),
    )
    assert trial.status == "complete"


def test_a_failed_tool_is_no_failed_run(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("pay", tool("pay"), parent="run", error="timed out"),
            span("chat", OK, parent="run", at=2),
        ),
    )
    assert trial.status == "complete"


def test_a_trial_without_its_root_is_incomplete_and_still_read(store: Store) -> None:
    trial = trial_of(store, traces(span("pay", tool("pay", {"id": 1}, "paid"), parent="lost")))
    assert (trial.status, trial.status_reason, trial.completeness.root_missing) == ("incomplete", "root_missing", True)
    assert [call.name for call in trial.tool_calls] == ["pay"]


def test_a_run_whose_process_was_killed_is_incomplete(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent(**{"spanproof.unfinished": "sigterm"}), seconds=9)))
    assert (trial.status, trial.status_reason) == ("incomplete", "unfinished")


def test_a_run_without_agent_spans_that_ended_on_a_call_is_incomplete(store: Store) -> None:
    trial = trial_of(store, traces(span("chat", chat([said("user", "x")], [asked("pay", {}, "c1")]))))
    assert (trial.status, trial.status_reason) == ("incomplete", "ended_on_tool_call")


def test_a_run_that_paused_on_a_call_is_incomplete(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", chat([said("user", "x")], [asked("pay", {"n": 1}, "c1")]), parent="run"),
            span("pay", tool("pay", {"n": 1}), parent="run", at=2),
        ),
    )
    assert (trial.status, trial.status_reason) == ("incomplete", "ended_on_tool_call")


def test_a_run_that_ended_with_a_tool_that_answered_is_complete(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", chat([said("user", "x")], [asked("submit", {"n": 1}, "c1")]), parent="run"),
            span("submit", tool("submit", {"n": 1}, "accepted"), parent="run", at=2),
        ),
    )
    assert trial.status == "complete"


def test_a_wait_that_nothing_follows_is_waiting(store: Store) -> None:
    wait = event(
        "spanproof.wait",
        {
            "spanproof.wait.owner": "ann",
            "spanproof.wait.decision": "approve refund",
            "spanproof.wait.deadline": T0 + 10**12,
            "spanproof.wait.resumable": True,
        },
        at=3,
    )
    closing = chat([said("user", "x")], [said("assistant", "I have asked Ann to approve it.")])
    trial = trial_of(
        store,
        traces(span("run", agent(), seconds=6, events=[wait]), span("chat", closing, parent="run", at=4)),
    )
    assert (trial.status, trial.status_reason) == ("waiting", "approve refund")
    assert trial.waits[0].legitimate
    assert trial.claim.source == "termination"


def test_a_wait_that_was_decided_is_over(store: Store) -> None:
    wait = event("spanproof.wait", {"spanproof.wait.owner": "ann", "spanproof.wait.decision": "approve"}, at=3)
    session = {"gen_ai.conversation.id": "c-1"}
    trial = trial_of(
        store,
        traces(span("run", agent(**session), seconds=4, events=[wait])),
        traces(span("resumed", agent(**session), trace="b", at=60)),
    )
    assert trial.status == "complete"


def test_a_wait_that_lacks_a_field_is_not_legitimate(store: Store) -> None:
    wait = event("spanproof.wait", {"spanproof.wait.owner": "ann", "spanproof.wait.decision": "approve"}, at=3)
    trial = trial_of(store, traces(span("run", agent(), seconds=4, events=[wait])))
    assert not trial.waits[0].legitimate


def test_a_declared_termination_is_the_status(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent(**{"spanproof.termination.reason": "budget_exhausted"}))))
    assert (trial.status, trial.status_reason) == ("aborted", "budget_exhausted")


def test_usage_counts_inferences_and_not_the_sums_on_agent_spans(store: Store) -> None:
    used = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 5}
    trial = trial_of(
        store,
        traces(
            span("run", agent(**{"gen_ai.usage.input_tokens": 200}), seconds=9),
            span("chat", OK | used, key="m1", parent="run"),
            span("chat", OK | used, key="m2", parent="run", at=2),
        ),
    )
    assert (trial.usage.input_tokens, trial.usage.output_tokens, trial.usage.cache_read_tokens) == (200, 10, None)


def test_one_inference_that_framework_and_client_both_tell_of_is_one(store: Store) -> None:
    used = {"gen_ai.usage.input_tokens": 100}
    outer = chat(None, [said("assistant", "Done.")]) | used
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", outer, key="framework", parent="run", seconds=3),
            span("HTTP", {"http.request.method": "POST"}, key="http", parent="framework", at=0.2),
            span("chat", OK | used | {"gen_ai.usage.output_tokens": 5}, key="client", parent="http", at=0.3),
        ),
    )
    assert (trial.usage.input_tokens, trial.usage.output_tokens, trial.completeness.content) == (100, 5, "captured")
    assert [step.kind for step in trial.steps] == ["agent_call", "model_call", "other", "other"]


def test_cost_is_the_sum_of_bills_and_a_missing_bill_is_no_zero(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", OK | {"spanproof.cost.usd": "0.10"}, key="m1", parent="run"),
            span("chat", OK, key="m2", parent="run", at=2),
        ),
    )
    assert (trial.cost.usd, trial.cost.covered) == (Decimal("0.10"), False)


def test_without_any_bill_the_cost_is_unknown(store: Store) -> None:
    trial = trial_of(store, traces(span("run", agent())))
    assert (trial.cost.usd, trial.cost.covered, trial.cost.reason) == (None, False, "no_billed_cost")


def test_a_value_that_was_cut_is_counted(store: Store) -> None:
    cut = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role":"assistant","par'}
    trial = trial_of(store, traces(span("chat", cut)))
    assert (trial.completeness.truncated_values, trial.completeness.content) == (1, "not_captured")


def test_a_span_that_no_dialect_reads_is_kept_shown_and_counted(store: Store) -> None:
    trial = trial_of(
        store, traces(span("run", agent(), seconds=9), span("GET /x", {"http.method": "GET"}, parent="run"))
    )
    assert [(step.kind, step.name) for step in trial.steps] == [("agent_call", "run"), ("other", "GET /x")]
    assert trial.completeness.unclaimed_spans == 1


def test_labels_alone_do_not_claim_a_span(store: Store) -> None:
    trial = trial_of(store, traces(span("GET /x", {"http.method": "GET", "spanproof.trial.id": "t-1"})))
    assert (trial.completeness.unclaimed_spans, trial.dialects) == (1, ())


def test_evidence_without_a_step_of_the_agent_is_not_understood(store: Store) -> None:
    state = event("spanproof.end_state", {"spanproof.end_state.phase": "after", "spanproof.end_state.state": "{}"})
    trial = trial_of(store, traces(span("snapshot", {"spanproof.trial.id": "t-1"}, events=[state])))
    assert (trial.dialects, trial.understood) == (("spanproof",), False)


def test_a_trial_that_no_dialect_reads_is_not_understood(store: Store) -> None:
    assert not trial_of(store, traces(span("GET /x", {"http.method": "GET"}))).understood


def test_an_end_state_is_kept_with_the_word_of_its_digest(store: Store) -> None:
    state = event(
        "spanproof.end_state",
        {
            "spanproof.end_state.phase": "after",
            "spanproof.end_state.state": "{}",
            "spanproof.end_state.digest": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        },
    )
    forged = event(
        "spanproof.end_state",
        {"spanproof.end_state.phase": "after", "spanproof.end_state.state": "{ }", "spanproof.end_state.digest": "44"},
        at=1,
    )
    trial = trial_of(store, traces(span("run", agent(), events=[state, forged])))
    assert [item.digest_matches for item in trial.end_states] == [True, False]


def test_the_agent_of_a_trial_is_the_agent_and_not_the_workflow_around_it(store: Store) -> None:
    workflow = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "nightly"}
    trial = trial_of(store, traces(span("w", workflow, seconds=9), span("run", agent("refunder"), parent="w", at=1)))
    assert trial.agent_name == "refunder"


def test_where_content_is_off_and_tools_may_have_been_asked_for_the_calls_are_not_whole(store: Store) -> None:
    silent = chat(None, None) | {"gen_ai.response.finish_reasons": ["tool_calls"]}
    trial = trial_of(store, traces(span("chat", silent)))
    assert (trial.completeness.calls_whole, trial.status) == (False, "incomplete")


def test_calls_are_whole_where_every_inference_ended_without_a_tool_or_tools_have_spans(store: Store) -> None:
    plain = chat(None, None) | {"gen_ai.response.finish_reasons": ["stop"]}
    found = trials_of(
        store,
        traces(span("chat", plain, trace="a")),
        traces(span("chat", chat(None, None), trace="b", key="m"), span("pay", tool("pay"), trace="b", parent="m")),
    )
    assert [trial.completeness.calls_whole for trial in found] == [True, True]


def test_a_run_of_which_nothing_but_its_root_is_seen_has_no_whole_calls(store: Store) -> None:
    assert not trial_of(store, traces(span("run", agent()))).completeness.calls_whole


def test_an_inference_without_tokens_is_counted(store: Store) -> None:
    used = {"gen_ai.usage.input_tokens": 100}
    trial = trial_of(
        store,
        traces(
            span("chat", OK | used, key="m1"), span("chat", OK, key="m2", at=2), span("chat", OK, key="m3", error="x")
        ),
    )
    assert (trial.usage.input_tokens, trial.completeness.unmetered_calls) == (100, 1)


def test_a_background_inference_that_fails_is_no_failed_run(store: Store) -> None:
    answer = {"gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Refunded."}]}]'}
    trial = trial_of(
        store,
        traces(
            span("run", agent(**answer), seconds=60),
            span("title", chat(None, None), parent="run", at=5, error="rate limit"),
        ),
    )
    assert (trial.status, trial.final_answer) == ("complete", "Refunded.")


def test_a_run_that_never_ended_is_incomplete(store: Store) -> None:
    open_ended = span("run", agent())
    open_ended.end_time_unix_nano = 0
    assert trial_of(store, traces(open_ended)).status == "incomplete"


def test_an_answer_that_was_cut_at_its_length_is_incomplete(store: Store) -> None:
    cut = OK | {"gen_ai.response.finish_reasons": ["length"]}
    trial = trial_of(store, traces(span("chat", cut)))
    assert (trial.status, trial.status_reason) == ("incomplete", "length")


def test_a_trial_of_log_records_alone_is_read_and_lacks_its_root(store: Store) -> None:
    labeled = OK | {"spanproof.trial.id": "t-1", "gen_ai.usage.input_tokens": 7}
    trial = trial_of(store, logs(log_record("gen_ai.client.inference.operation.details", labeled, of="lost")))
    assert (trial.trial_id, trial.status, trial.completeness.root_missing) == ("t-1", "incomplete", True)
    assert (trial.final_answer, trial.usage.input_tokens) == ("Done.", 7)


def test_inferences_that_name_the_agents_span_are_inferences_of_their_own(store: Store) -> None:
    ask = asked("pay", {"n": 1}, "c1")
    used = {"gen_ai.usage.input_tokens": 10}
    first = chat([said("user", "x")], [ask]) | used
    second = chat([said("user", "x"), ask, told("Error: timed out", "c1")], [said("assistant", "Done.")]) | used
    trial = trial_of(
        store,
        traces(span("run", agent("clerk"), seconds=9)),
        logs(
            log_record("gen_ai.client.inference.operation.details", first, of="run", at=1),
            log_record("gen_ai.client.inference.operation.details", second, of="run", at=4),
        ),
    )
    assert (trial.agent_name, trial.usage.input_tokens, trial.final_answer) == ("clerk", 20, "Done.")
    assert [(call.name, call.effect.reason) for call in trial.tool_calls] == [("pay", "error_text")]
    assert [step.kind for step in trial.steps] == ["agent_call", "model_call", "model_call"]


@pytest.mark.parametrize("cost", ["1e9999999", "1e999999", "-1", "NaN", "free"])
def test_a_cost_that_is_no_amount_is_no_bill(store: Store, cost: str) -> None:
    assert trial_of(store, traces(span("chat", OK | {"spanproof.cost.usd": cost}))).cost.usd is None


def test_numbers_that_are_not_finite_are_no_evidence(store: Store) -> None:
    odd = [
        event("spanproof.progress", {"spanproof.progress.key": "k", "spanproof.progress.delta": float("nan")}),
        event(
            "spanproof.quality",
            {
                "spanproof.quality.score": float("inf"),
                "spanproof.quality.grader": "g",
                "spanproof.quality.revision": "1",
            },
        ),
    ]
    trial = trial_of(store, traces(span("run", agent(), events=odd)))
    assert (trial.progress, trial.quality) == ((), ())


def test_a_wait_whose_claim_came_later_is_over(store: Store) -> None:
    wait = event("spanproof.wait", {"spanproof.wait.owner": "ann", "spanproof.wait.decision": "approve"}, at=3)
    claim = event("spanproof.claim", {"spanproof.claim.state": "success"}, at=5)
    trial = trial_of(store, traces(span("run", agent(), seconds=6, events=[wait, claim])))
    assert (trial.status, trial.claim.state) == ("complete", "success")
