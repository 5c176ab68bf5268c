"""Tokens, each sender's counts made one: ``input_tokens`` includes what came from a cache and what went into one.

Providers differ: OpenAI and Gemini count cached tokens among the input, Anthropic and Bedrock beside it. Whoever
passes the provider's counts on passes the difference on too; its shape tells it, a total proves it.
"""

from collections.abc import Mapping

from spanproof_collector.dialects._json import as_attributes, count
from spanproof_collector.model.readings import Usage
from spanproof_collector.model.values import Json, Value


def whole(
    *,
    input_tokens: int | None,
    output_tokens: int | None,
    cache_read: int | None = None,
    cache_write: int | None = None,
    reasoning: int | None = None,
    total: int | None = None,
    beside: bool = False,
) -> Usage:
    """Return tokens with the cached ones among the input.

    Args:
        input_tokens: as counted.
        output_tokens: as counted, reasoning included.
        cache_read: tokens that came from a cache.
        cache_write: tokens that went into one.
        reasoning: tokens of the output that nobody was shown.
        total: where it was recorded, it shows whether cached tokens stand beside the input.
        beside: what the sender does where nothing shows it.
    """
    cached = (cache_read or 0) + (cache_write or 0)
    if input_tokens is not None and cached:
        if total is not None and total == input_tokens + (output_tokens or 0):
            beside = False
        elif total is not None and total == input_tokens + cached + (output_tokens or 0):
            beside = True
        if beside or cached > input_tokens:  # more than all of it: they cannot be part of it
            input_tokens += cached
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


def of_provider(payload: Json) -> Usage:
    """Return the tokens of a provider's own usage object."""
    if not isinstance(payload, dict):
        return Usage()
    got = as_attributes(payload)
    details = _details(payload, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    spent = _details(payload, "completion_tokens_details", "output_tokens_details", "output_token_details")
    if "promptTokenCount" in payload or "prompt_token_count" in payload:
        return _gemini(got)
    own_read = count(got, "cache_read_input_tokens", "cacheReadInputTokens")
    own_write = count(got, "cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_input_tokens")
    return whole(
        input_tokens=count(got, "prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "input"),
        output_tokens=count(got, "completion_tokens", "output_tokens", "outputTokens", "completionTokens", "output"),
        cache_read=count(details, "cached_tokens", "cache_read") if own_read is None else own_read,
        cache_write=count(details, "cache_write_tokens", "cache_creation") if own_write is None else own_write,
        reasoning=count(spent, "reasoning_tokens", "reasoning"),
        total=count(got, "total_tokens", "totalTokens", "total"),
        # only Anthropic and Bedrock have these at the top, and both count them beside the input
        beside=own_read is not None or own_write is not None,
    )


def _details(payload: dict[str, Json], *keys: str) -> Mapping[str, Value]:
    return next((found for key in keys if (found := as_attributes(payload.get(key)))), {})


def _gemini(got: Mapping[str, Value]) -> Usage:
    thought = count(got, "thoughtsTokenCount", "thoughts_token_count")
    said = count(got, "candidatesTokenCount", "candidates_token_count")
    return Usage(
        input_tokens=count(got, "promptTokenCount", "prompt_token_count"),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cache_read_tokens=count(got, "cachedContentTokenCount", "cached_content_token_count"),
        reasoning_tokens=thought,
    )
