"""OpenAI, and every server that speaks its chat completions: vLLM, Ollama, llama.cpp, LM Studio, gateways."""

from typing import TYPE_CHECKING, Any

from spanproof_evaluators.judges.providers._keys import key_for

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDEMPOTENCY = "Idempotency-Key"
EXTRA = "judges"
PER_REQUEST = True


def model(name: str, base_url: str | None) -> "Model[Any]":
    """Return a model of OpenAI's own, or one behind a base URL. The answer's schema is sent as ``json_schema``."""
    from pydantic_ai.models.openai import OpenAIChatModel

    if base_url is None:
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIChatModel(name, provider=OpenAIProvider(api_key=key_for("OPENAI_API_KEY", "openai")))
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    return OpenAIChatModel(
        name,
        provider=OpenAICompatibleProvider(
            "openai-compatible", base_url=base_url, api_key=key_for(None, "openai") or "none"
        ),
        profile=OpenAIModelProfile(supports_json_schema_output=True, openai_chat_supports_max_completion_tokens=False),
    )
