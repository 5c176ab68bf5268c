"""Providers, one file each. Each gives a model of the client library; nothing else knows it."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.providers._provider import FailureKind, Provider, ProviderError, Reply

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

__all__ = ["EXTRA_BODY", "PROVIDERS", "FailureKind", "Provider", "ProviderError", "Reply", "provider", "split"]

PROVIDERS: Final = ("openai", "anthropic", "google", "bedrock")
EXTRA_BODY: Final = ("openai", "anthropic")
"""Providers whose requests take members that the library does not know."""


def split(name: str) -> tuple[str, str, str]:
    """Return provider, model and revision of ``PROVIDER:MODEL[@REVISION]``.

    Raises:
        JudgeSetupError: it is no such name, or the provider is not known.
    """
    found, colon, rest = name.partition(":")
    if not colon or not rest or found not in PROVIDERS:
        raise JudgeSetupError(
            f"{name!r} names no model. Give PROVIDER:MODEL, with one of {', '.join(PROVIDERS)}; "
            "vLLM, Ollama, llama.cpp and gateways are openai with --base-url"
        )
    model, _, revision = rest.partition("@")
    return found, model, revision


def provider(
    name: str, model: str, *, base_url: str | None, seconds: float, tracers: "TracerProvider | None" = None
) -> Provider:
    """Return a provider that sends requests to one model.

    Raises:
        JudgeSetupError: its package is not installed, or its key is not there.
    """
    module: ModuleType = import_module(f"spanproof_evaluators.judges.providers.{name}")
    try:
        from pydantic_ai.exceptions import UserError

        from spanproof_evaluators.judges.providers._library import LibraryProvider

        try:
            found = module.model(model, base_url)
        except UserError as error:
            raise JudgeSetupError(f"{name}: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise JudgeSetupError(
            f"judges of {name} need a package that is not installed: pip install 'spanproof[{module.EXTRA}]'"
        ) from error
    return LibraryProvider(
        model=found,
        seconds=seconds,
        tracers=tracers,
        per_request=module.PER_REQUEST,
        idempotency_header=module.IDEMPOTENCY,
    )
