"""Amazon Bedrock's Converse API. Region and credentials are found as boto3 finds them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDEMPOTENCY = None
EXTRA = "bedrock"


def model(name: str, base_url: str | None) -> "Model[Any]":
    """Return a model on Bedrock."""
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    return BedrockConverseModel(name, provider=BedrockProvider(base_url=base_url))
