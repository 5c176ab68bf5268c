"""Unmodified agents on real packages: what spanproof reads of each through ``spanproof run``."""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.instrumentation.frameworks.agent_process import Agents, Asked, Ended, JsonObject, named, steps
from tests.instrumentation.frameworks.model_endpoint import (
    AMOUNT,
    ANSWER,
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    REASONING_TOKENS,
)

# Instrumentors of a model's SDK alone write a trace for each model call and nothing around them.
BARE: Final = (
    "openai_loop",
    "openai_stream",
    "openai_async",
    "openai_responses",
    "anthropic_loop",
    "anthropic_stream",
)
ROOTED: Final = (
    "agents_sdk",
    "agents_stream",
    "langchain_agent",
    "langchain_stream",
    "langgraph_graph",
    "anthropic_runner",
    "pydantic_agent",
)
ALL: Final = BARE + ROOTED
ONE_EACH: Final = ("openai_loop", "agents_sdk", "langchain_agent", "anthropic_loop", "pydantic_agent")
SESSIONS: Final = {"langchain_thread": "thread", "agents_group": "group"}
STREAMS: Final = ("openai_stream", "agents_stream", "langchain_stream", "anthropic_stream")

RUNS: Final[dict[str, Asked]] = {
    **{program: Asked(program=program) for program in ALL},
    **{f"{program}/alone": Asked(program=program, options=None) for program in ("openai_loop", "langchain_stream")},
    **{
        f"{program}/parallel": Asked(program=program, model="gpt-parallel", orders=3)
        for program in ("openai_async", "agents_sdk", "langchain_agent", "pydantic_agent")
    },
    **{f"{program}/timeout": Asked(program=program, fault="timeout") for program in ONE_EACH},
    **{
        f"{program}/500": Asked(program=program, model="gpt-500")
        for program in ("openai_loop", "agents_sdk", "pydantic_agent")
    },
    "openai_loop/500/alone": Asked(program="openai_loop", model="gpt-500", options=None),
    **{f"{program}/breaks-off": Asked(program=program, model="gpt-breaks-off") for program in STREAMS},
    **{f"{program}/429": Asked(program=program, model="gpt-429") for program in ("openai_loop", "anthropic_loop")},
    **{program: Asked(program=program) for program in SESSIONS},
    "anthropic_loop/instrumentor": Asked(program="anthropic_loop", environment={"ANTHROPIC_OPEN_TELEMETRY": "false"}),
    "langchain_agent/no-content": Asked(program="langchain_agent", options=()),
    "openai_loop/no-content": Asked(program="openai_loop", options=()),
    "openai_loop/labels": Asked(
        program="openai_loop",
        options=(
            "--capture-content",
            "--task",
            "T-1",
            "--trial",
            "T-1/0",
            "--variant",
            "careful",
            "--suite",
            "refunds",
        ),
    ),
}


@pytest.fixture(scope="module")
def ended(agents: Agents) -> Mapping[str, Ended]:
    return agents.run(RUNS)


def _refund(order: str) -> JsonObject:
    return {"order_id": order, "refund_id": f"RF-{order}", "amount_cents": AMOUNT}


@pytest.mark.parametrize("program", ALL)
def test_every_call_is_read_with_its_id_arguments_and_result(
    program: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    order = ended[program].order
    looked_up, refunded = agents.trial(ended[program])["tool_calls"]
    assert (looked_up["name"], looked_up["call_id"]) == ("lookup_order", f"call_{order}_0_0")
    assert looked_up["arguments"] == {"order_id": order}
    assert looked_up["result"] == {"order_id": order, "status": "delivered", "amount_cents": AMOUNT}
    assert (looked_up["executed"], looked_up["effect"]["state"]) == ("yes", "none")
    assert (refunded["name"], refunded["call_id"]) == ("issue_refund", f"call_{order}_1_0")
    assert refunded["arguments"] == {"order_id": order, "amount_cents": AMOUNT}
    assert refunded["result"] == _refund(order)
    assert (refunded["executed"], refunded["effect"]["state"]) == ("yes", "reported")


@pytest.mark.parametrize("program", ALL)
def test_a_run_is_one_trial_with_its_answer_and_its_claim(
    program: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    trial = agents.trial(ended[program])
    assert trial["final_answer"] == ANSWER.format(order=ended[program].order)
    assert (trial["claim"]["state"], trial["outcome"]["state"]) == ("success", "unavailable")
    assert trial["status"] == "complete"
    assert trial["completeness"]["content"] == "captured"
    if program in BARE:
        assert (trial["joined_by"], len(trial["trace_ids"])) == ("history", 3)
    else:
        assert trial["joined_by"] in ("trace", "session")
        assert (len(trial["trace_ids"]), trial["completeness"]["root_missing"]) == (1, False)


@pytest.mark.parametrize("program", ALL)
def test_a_model_call_is_told_once(program: str, agents: Agents, ended: Mapping[str, Ended]) -> None:
    trial = agents.trial(ended[program])
    assert len(steps(trial, "model_call")) == 3
    usage = trial["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (3 * INPUT_TOKENS, 3 * OUTPUT_TOKENS)
    assert usage["cache_read_tokens"] == 3 * CACHED_TOKENS
    assert usage["cache_write_tokens"] == (0 if program.startswith("anthropic") else None)
    # Anthropic counts none; Pydantic AI leaves them to the span of the client under it
    assert usage["reasoning_tokens"] == (None if program.startswith("anthropic") else 3 * REASONING_TOKENS)


@pytest.mark.parametrize("program", ALL)
def test_the_agent_prints_and_ends_as_ever(program: str, ended: Mapping[str, Ended]) -> None:
    run = ended[program]
    assert (run.stdout, run.exit_code) == (ANSWER.format(order=run.order) + "\n", 0)


@pytest.mark.parametrize("program", ["openai_loop", "langchain_stream"])
def test_the_agent_says_the_same_as_without_spanproof(program: str, ended: Mapping[str, Ended]) -> None:
    inside, alone = ended[program], ended[f"{program}/alone"]
    assert inside.stdout.replace(inside.order, alone.order) == alone.stdout
    assert inside.exit_code == alone.exit_code == 0


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("/parallel")])
def test_calls_side_by_side_keep_their_own_results(name: str, agents: Agents, ended: Mapping[str, Ended]) -> None:
    order = ended[name].order
    *lookups, refund = agents.trial(ended[name])["tool_calls"]
    for place, (call, looked_up) in enumerate(zip(lookups, (order, f"{order}X1", f"{order}X2"), strict=True)):
        assert call["call_id"] == f"call_{order}_0_{place}"
        assert call["arguments"] == {"order_id": looked_up}
        assert call["result"]["order_id"] == looked_up
    assert (refund["name"], refund["result"]) == ("issue_refund", _refund(order))


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("/timeout")])
def test_a_claim_over_a_tool_that_timed_out_rests_on_an_unknown_effect(
    name: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    trial = agents.trial(ended[name])
    looked_up, refunded = trial["tool_calls"]
    assert (looked_up["executed"], looked_up["effect"]["state"]) == ("yes", "none")
    assert (refunded["executed"], refunded["effect"]["state"]) == ("unknown", "unknown")
    assert refunded["error"]
    assert (trial["claim"]["state"], trial["false_success"]) == ("success", None)


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith(("/500", "/breaks-off"))])
def test_a_run_that_its_model_breaks_off_keeps_what_was_done(
    name: str, agents: Agents, ended: Mapping[str, Ended]
) -> None:
    trial = agents.trial(ended[name])
    assert named(trial["tool_calls"]) == ["lookup_order", "issue_refund"]
    assert trial["tool_calls"][1]["result"] == _refund(ended[name].order)
    assert (trial["status"], trial["claim"]["state"]) == ("error", "none")
    assert (ended[name].stdout, ended[name].exit_code) == ("", 1)


def test_an_unhandled_exception_reaches_the_terminal_as_ever(ended: Mapping[str, Ended]) -> None:
    inside, alone = ended["openai_loop/500"], ended["openai_loop/500/alone"]
    assert "openai.InternalServerError" in alone.stderr
    assert inside.stderr.splitlines()[-2:] == alone.stderr.splitlines()[-2:]
    assert inside.exit_code == alone.exit_code == 1


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("/429")])
def test_a_call_that_the_sdk_repeats_is_one_model_call(name: str, agents: Agents, ended: Mapping[str, Ended]) -> None:
    trial = agents.trial(ended[name])
    assert len(steps(trial, "model_call")) == 3
    assert (trial["status"], named(trial["tool_calls"])) == ("complete", ["lookup_order", "issue_refund"])


def test_without_content_calls_are_counted_and_nothing_is_made_up(agents: Agents, ended: Mapping[str, Ended]) -> None:
    trial = agents.trial(ended["langchain_agent/no-content"])
    assert named(trial["tool_calls"]) == ["lookup_order", "issue_refund"]
    assert all(call["arguments"] is None and call["result"] is None for call in trial["tool_calls"])
    assert (trial["completeness"]["content"], trial["claim"]["state"]) == ("not_captured", "unavailable")
    assert trial["tool_calls"][1]["effect"]["state"] == "unknown"


def test_bare_model_calls_without_content_are_not_joined(agents: Agents, ended: Mapping[str, Ended]) -> None:
    trials = agents.trials(ended["openai_loop/no-content"].project)
    assert [trial["completeness"]["content"] for trial in trials] == ["not_captured"] * 3
    assert [trial["claim"]["state"] for trial in trials] == ["unavailable"] * 3
    assert [trial["tool_calls"] for trial in trials] == [[]] * 3


def test_the_anthropic_sdk_with_its_own_spans_off_is_read_through_the_instrumentor(
    agents: Agents, ended: Mapping[str, Ended]
) -> None:
    run = ended["anthropic_loop/instrumentor"]
    trial = agents.trial(run)
    assert [step["name"].partition(" ")[0] for step in trial["steps"]] == ["chat"] * 3
    assert trial["tool_calls"][1]["result"] == _refund(run.order)
    assert trial["usage"]["input_tokens"] == 3 * INPUT_TOKENS


@pytest.mark.parametrize(("program", "word"), SESSIONS.items())
def test_runs_of_one_session_are_one_trial(program: str, word: str, agents: Agents, ended: Mapping[str, Ended]) -> None:
    trial = agents.trial(ended[program])
    assert (trial["joined_by"], len(trial["trace_ids"])) == ("session", 2)
    assert trial["session_id"] == f"{word} of Refund order {ended[program].order}."
    assert named(trial["tool_calls"]) == ["lookup_order", "issue_refund"]
    assert len(steps(trial, "model_call")) == 4


def test_labels_of_the_command_line_make_one_trial_of_many_traces(agents: Agents, ended: Mapping[str, Ended]) -> None:
    trial = agents.trial(ended["openai_loop/labels"])
    assert (trial["joined_by"], trial["trial_id"]) == ("label", "T-1/0")
    assert (trial["task_id"], trial["variant"], trial["suite"]) == ("T-1", "careful", "refunds")
    assert len(trial["tool_calls"]) == 2
