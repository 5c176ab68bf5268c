"""Tokens by each sender's own rule: the input includes what came from a cache and what went into one."""

import json

import pytest

from spanproof_collector.dialects import SpanView, read_span
from spanproof_collector.model.readings import ModelCall, Usage
from spanproof_collector.model.values import Value


def _usage(attributes: dict[str, Value]) -> Usage:
    found = read_span(SpanView(attributes=attributes))
    assert found is not None
    assert isinstance(found[1], ModelCall)
    return found[1].usage


CACHED = Usage(input_tokens=10_000, output_tokens=7, cache_read_tokens=9_000, cache_write_tokens=500)
RULES: list[tuple[str, dict[str, Value]]] = [
    (
        "the conventions count cached tokens among the input",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 10_000,
            "gen_ai.usage.output_tokens": 7,
            "gen_ai.usage.cache_read.input_tokens": 9_000,
            "gen_ai.usage.cache_creation.input_tokens": 500,
        },
    ),
    (
        "more cached tokens than input cannot be among it",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 500,
            "gen_ai.usage.output_tokens": 7,
            "gen_ai.usage.cache_read.input_tokens": "9000",
            "gen_ai.usage.cache_write.input_tokens": 500.0,
        },
    ),
    (
        "a total shows that they stand beside it: Bedrock's, as Strands passes them on",
        {
            "gen_ai.operation.name": "chat",
            "event_loop.cycle_id": "1",
            "gen_ai.usage.input_tokens": 500,
            "gen_ai.usage.output_tokens": 7,
            "gen_ai.usage.total_tokens": 10_007,
            "gen_ai.usage.cache_read_input_tokens": 9_000,
            "gen_ai.usage.cache_write_input_tokens": 500,
        },
    ),
    (
        "OpenInference counts them among the prompt",
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 10_000,
            "llm.token_count.completion": 7,
            "llm.token_count.prompt_details.cache_read": 9_000,
            "llm.token_count.prompt_details.cache_write": 500,
        },
    ),
    (
        "OpenLLMetry adds Anthropic's to the prompt",
        {
            "llm.request.type": "chat",
            "gen_ai.usage.prompt_tokens": 10_000,
            "gen_ai.usage.completion_tokens": 7,
            "llm.usage.total_tokens": 10_007,
            "gen_ai.usage.cache_read_input_tokens": 9_000,
            "gen_ai.usage.cache_creation_input_tokens": 500,
        },
    ),
    (
        "Langfuse's own buckets do not overlap",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.usage_details": json.dumps(
                {"input": 500, "output": 7, "input_cache_read": 9_000, "input_cache_creation": 500, "total": 10_007}
            ),
        },
    ),
    (
        "Langfuse passes Anthropic's usage on, which counts them beside the input",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.usage_details": json.dumps(
                {
                    "input_tokens": 500,
                    "output_tokens": 7,
                    "cache_read_input_tokens": 9_000,
                    "cache_creation_input_tokens": 500,
                }
            ),
        },
    ),
    (
        "MLflow makes the input whole, whatever the provider did",
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.chat.tokenUsage": json.dumps(
                {
                    "input_tokens": 10_000,
                    "output_tokens": 7,
                    "total_tokens": 10_007,
                    "cache_read_input_tokens": 9_000,
                    "cache_creation_input_tokens": 500,
                }
            ),
        },
    ),
]


@pytest.mark.parametrize("attributes", [rule[1] for rule in RULES], ids=[rule[0] for rule in RULES])
def test_cached_tokens_are_counted_once(attributes: dict[str, Value]) -> None:
    assert _usage(attributes) == CACHED


def test_openais_usage_says_what_was_cached_and_what_was_reasoning() -> None:
    raw = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    attributes: dict[str, Value] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(raw),
    }
    assert _usage(attributes) == Usage(input_tokens=100, output_tokens=50, cache_read_tokens=60, reasoning_tokens=40)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat", "gen_ai.usage.reasoning_tokens": 40},
        {"gen_ai.operation.name": "chat", "gen_ai.usage.reasoning.output_tokens": 40},
        {
            "gen_ai.operation.name": "chat",
            "model_request_parameters": "{}",
            "gen_ai.usage.details.reasoning_tokens": 40,
        },
        {"openinference.span.kind": "LLM", "llm.token_count.completion_details.reasoning": 40},
    ],
)
def test_reasoning_tokens_are_read_under_every_name(attributes: dict[str, Value]) -> None:
    assert _usage(attributes).reasoning_tokens == 40


def test_tokens_that_nobody_counted_are_unknown_and_not_zero() -> None:
    assert _usage({"gen_ai.operation.name": "chat"}) == Usage()
    assert _usage({"openinference.span.kind": "LLM", "llm.token_count.prompt": -1}) == Usage()
    assert _usage({"langfuse.observation.type": "generation", "langfuse.observation.usage_details": "{cut"}) == Usage()


@pytest.mark.parametrize(("total", "whole"), [(9_010, 9_000), (6_010, 6_000), (None, 6_000), (77, 6_000)])
def test_a_total_shows_whether_cached_tokens_stand_beside_the_input(total: int | None, whole: int) -> None:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 6_000,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 3_000,
        "gen_ai.usage.total_tokens": total,
    }
    assert _usage(attributes).input_tokens == whole


@pytest.mark.parametrize(("total", "whole"), [(6_010, 6_000), (9_010, 9_000), (None, 9_000)])
def test_a_total_outranks_what_the_shape_of_a_usage_object_suggests(total: int | None, whole: int) -> None:
    raw = {"input_tokens": 6_000, "output_tokens": 10, "cache_read_input_tokens": 3_000, "total_tokens": total}
    attributes: dict[str, Value] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(raw),
    }
    assert _usage(attributes).input_tokens == whole
