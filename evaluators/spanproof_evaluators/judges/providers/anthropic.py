"""Anthropic's Messages API."""

from typing import TYPE_CHECKING, Any

from spanproof_evaluators.judges.providers._keys import key_for

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDEMPOTENCY = "Idempotency-Key"
EXTRA = "judges"
PER_REQUEST = True


def model(name: str, base_url: str | None) -> "Model[Any]":
    """Return a model of Anthropic's, or one behind a base URL that speaks the same."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    own = None if base_url else "ANTHROPIC_API_KEY"
    return AnthropicModel(
        name, provider=AnthropicProvider(api_key=key_for(own, "anthropic") or "none", base_url=base_url)
    )
