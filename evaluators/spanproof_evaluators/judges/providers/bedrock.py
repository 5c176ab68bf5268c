"""Amazon Bedrock's Converse API. Region and credentials are found as boto3 finds them."""

from typing import TYPE_CHECKING, Any

from spanproof_evaluators.errors import JudgeSetupError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

IDEMPOTENCY = None
EXTRA = "bedrock"
PER_REQUEST = False
"""Its client takes retries and waits when it is made, and none with a request."""


def model(name: str, base_url: str | None) -> "Model[Any]":
    """Return a model on Bedrock. Its client does not repeat requests by itself: each one is counted.

    Raises:
        JudgeSetupError: boto3 finds no region or credentials.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    config = Config(retries={"total_max_attempts": 1}, read_timeout=3600)  # a shorter wait is the library's to end
    try:
        client = boto3.client("bedrock-runtime", endpoint_url=base_url, config=config)
    except BotoCoreError as error:
        raise JudgeSetupError(f"bedrock: {error}") from error
    return BedrockConverseModel(name, provider=BedrockProvider(bedrock_client=client))
