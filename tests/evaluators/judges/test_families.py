"""Families of models, panels, and the judge that is of the agent's own family."""

import dataclasses
from decimal import Decimal

import pytest

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.judges.families import family
from spanproof_evaluators.model.judgements import FAMILY_UNKNOWN, SAME_FAMILY, Judgement, decided
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.panels import agreement, panel
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.rubrics import Answer
from spanproof_evaluators.rules import RULES
from spanproof_evaluators.runner.assessing import assess_trial
from spanproof_evaluators.runner.judge_runs import may_judge
from tests.evaluators.factories import trial
from tests.evaluators.judges.asked import GROUNDED, judge


@pytest.mark.parametrize(
    ("model", "found"),
    [
        *(("gpt-5-mini", "gpt"), ("openai/gpt-oss-20b", "gpt"), ("o4-mini", "gpt"), ("chatgpt-4o-latest", "gpt")),
        *(("ft:gpt-4o-mini:acme::1", "gpt"), ("gpt-4o-2024-08-06", "gpt"), ("azure/gpt4", "gpt")),
        *(("claude-haiku-4-5-20251001", "claude"), ("us.anthropic.claude-haiku-4-5-v1:0", "claude")),
        *(("models/gemini-3-flash", "gemini"), ("gemma3:4b", "gemma"), ("google/gemma-2-9b-it", "gemma")),
        *(("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "qwen"), ("qwen3:8b", "qwen"), ("QwQ-32B", "qwen")),
        *(
            ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm"),
            ("meta-llama/Llama-3.3-70B", "llama"),
            ("CodeLlama-7b", "llama"),
        ),
        *(("mistral-large-latest", "mistral"), ("Mixtral-8x7B", "mistral"), ("devstral-small", "mistral")),
        *(("deepseek-chat", "deepseek"), ("grok-4", "grok"), ("glm-4.6", "glm"), ("kimi-k2", "kimi"), ("phi-4", "phi")),
        *(("DeepSeek-R1-Distill-Qwen-7B", "qwen"), ("deepseek-r1-distill-llama-70b", "llama")),
        *(("amazon.nova-lite-v1:0", "nova"), ("command-r-plus", "command"), ("my-own-model", None), ("", None)),
        *(("sophia-1", None), ("photo3", None), ("model-o1x", None), ("supernova", None), ("yield", None)),
    ],
)
def test_a_family_is_read_from_the_name(model: str, found: str | None) -> None:
    assert family(model) == found


def by(*models: str) -> Trial:
    return dataclasses.replace(trial(), models=models)


@pytest.mark.parametrize(
    ("models", "allowed", "refused", "flags"),
    [
        (("gpt-5",), (), False, ()),
        (("qwen3:8b",), (), True, ()),
        (("gpt-5", "qwen3:8b"), (), True, ()),
        (("qwen3:8b",), ("qwen",), False, (SAME_FAMILY,)),
        (("qwen3:8b",), ("qwen-judge",), False, (SAME_FAMILY,)),
        (("qwen3:8b",), ("openai:qwen-judge",), False, (SAME_FAMILY,)),
        (("qwen3:8b",), ("gpt",), True, ()),
        (("own-model",), (), False, (FAMILY_UNKNOWN,)),
        ((), (), False, (FAMILY_UNKNOWN,)),
        (("own-model", "gpt-5"), (), False, (FAMILY_UNKNOWN,)),
    ],
)
def test_a_judge_of_the_agents_family_is_refused_unless_it_is_named(
    models: tuple[str, ...], allowed: tuple[str, ...], refused: bool, flags: tuple[str, ...]
) -> None:
    nothing, found = may_judge(judge(), by(*models), frozenset(allowed))
    assert (nothing is not None, found) == (refused, flags)


def said(name: str, input_hash: str, state: str, **answers: Answer) -> Judgement:
    """Return a judgement of a judge on an input."""
    if state == "unavailable":
        return Judgement(
            judge=judge(name), input_hash=input_hash, state="unavailable", reason="timeout", cost_reason="-"
        )
    good: dict[str, tuple[Answer, str]] = {
        "consistent": ("yes", ""),
        "complete": ("yes", ""),
        "quote_verbatim": ("yes", ""),
        "fabricated": ("no", ""),
    }
    found, reason, criteria = decided(GROUNDED, good | {key: (value, "") for key, value in answers.items()})
    assert found == state
    return Judgement(
        judge=judge(name), input_hash=input_hash, state=found, reason=reason, criteria=criteria, cost=Decimal(0)
    )


def test_where_judges_differ_nobody_wins_by_vote() -> None:
    verdicts = panel(
        [
            *(said(name, "all good", "pass") for name in "abc"),
            *(said(name, "two to one", "pass") for name in "ab"),
            said("c", "two to one", "fail", fabricated="yes"),
            *(said(name, "all bad", "fail", complete="no") for name in "ab"),
            said("c", "all bad", "fail", complete="partially"),
            *(said(name, "one is missing", "pass") for name in "ab"),
            said("c", "one is missing", "unavailable"),
        ]
    )
    assert [(one.input_hash, one.state, one.reason, one.criteria) for one in verdicts] == [
        ("all good", "pass", None, ()),
        ("two to one", "unavailable", "disagreement", ("fabricated",)),
        ("all bad", "fail", "criterion_failed", ("complete",)),
        ("one is missing", "unavailable", "incomplete_panel", ()),
    ]
    counts = agreement(verdicts)
    assert (counts.inputs, counts.unanimous, counts.incomplete) == (3, 2, 1)
    assert (counts.pairs, counts.agreeing) == (9, 7)


def test_execution_and_pattern_outrank_a_judge() -> None:
    # a judge's word under any name, a hard rule's included, moves nothing
    one = trial()
    alone = assess_trial(one, None)
    for state in ("pass", "fail"):
        for name in ("judge:grounded:openai:m", "outcome", *(rule.name for rule in RULES)):
            word = Result(evaluator=name, kind="judge", state="pass" if state == "pass" else "fail")
            beside = assess_trial(one, None, judges=(word,))
            assert dataclasses.replace(beside, judges=()) == alone
            assert beside.all_results == (*alone.all_results, word)
    assert alone.outcome == Outcome.unavailable("no_verifier")
