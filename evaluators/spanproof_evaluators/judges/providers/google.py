"""Google's Gemini API."""

from typing import TYPE_CHECKING, Any

from spanproof_evaluators.judges.providers._keys import key_for

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDEMPOTENCY = None
EXTRA = "judges"
PER_REQUEST = True


def model(name: str, base_url: str | None) -> "Model[Any]":
    """Return a Gemini model, or one behind a base URL that speaks the same."""
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    own = None if base_url else "GOOGLE_API_KEY"
    return GoogleModel(name, provider=GoogleProvider(api_key=key_for(own, "google") or "none", base_url=base_url))
