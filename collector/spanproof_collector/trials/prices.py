"""Prices: what a model call costs by the catalogue of the package ``genai-prices``, by model, provider and date.

Only the catalogue that is installed with the package is read, never one that somebody loaded into the process later:
version and hash of that file say which prices were used. Nothing is rounded.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spanproof_collector.model.readings import ModelCall, Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo

_PROVIDERS: Final = {
    "gcp.gen_ai": "google",
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "az.ai.openai": "azure",
    "az.ai.inference": "azure",
    "azure-openai": "azure",
    "aws.bedrock": "aws",
    "x_ai": "x-ai",
    "mistral_ai": "mistral",
}
"""What the conventions call a provider, and the catalogue's name for it. Others are looked up as they are."""

_FRAMEWORKS: Final = frozenset({"strands-agents", "langchain", "openai_agents", "pydantic_ai", "crewai", "unknown"})
"""What frameworks write where the provider belongs: the model alone says whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one call costs in USD, exactly; ``None`` with the reason where the catalogue cannot say."""

    usd: Decimal | None
    reason: str | None = None
    input_usd: Decimal | None = None
    """The part for input, cached tokens included."""

    output_usd: Decimal | None = None


@cache
def catalogue() -> str:
    """Return which catalogue prices come from: ``genai-prices <version> sha256:<first 12 digits>``."""
    from genai_prices import data

    digest = hashlib.sha256(Path(data.__file__).read_bytes()).hexdigest()
    return f"genai-prices {version('genai-prices')} sha256:{digest[:12]}"


@cache
def _snapshot() -> "DataSnapshot":
    # reading it takes half a second, so only who asks for a price pays for it
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _providers(name: str | None) -> list[str | None]:
    plain = (name or "").strip().lower()
    if not plain or plain in _FRAMEWORKS:
        return [None]
    # the Vercel AI SDK writes provider and interface: groq.chat, azure-openai.responses
    head = plain.partition(".")[0]
    return [_PROVIDERS.get(plain) or _PROVIDERS.get(head) or plain, head]


@lru_cache(maxsize=1024)  # the catalogue goes through all its models, and the calls of a trial mostly name one
def _model(names: tuple[str, ...], provider: str | None) -> "tuple[str, ModelInfo] | None":
    for name in names:
        for provider_id in _providers(provider):
            try:
                return name, _snapshot().find_provider_model(name, None, provider_id, None)[1]
            except LookupError:
                continue
    return None


def price(usage: Usage, *, models: tuple[str | None, ...], provider: str | None, at: int | None) -> Price:
    """Return what a call costs.

    Args:
        usage: its tokens; cached ones are among the input, reasoning ones among the output.
        models: names of the model, the best first: the first that the catalogue knows is priced.
        provider: who answered, in the conventions' words or the catalogue's; ``None`` where nobody said.
        at: when, in Unix nanoseconds: prices change. ``None`` where nobody recorded it.
    """
    from genai_prices import types

    names = tuple(name for name in models if name)
    if not names:
        return Price(usd=None, reason="no model name")
    if usage.input_tokens is None or usage.output_tokens is None:
        return Price(usd=None, reason="tokens not recorded")
    found = _model(names, provider)
    if found is None:
        return Price(usd=None, reason=f"no price for {names[0]}" + (f" of {provider}" if provider else ""))
    name, model = found
    asked = types.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    if at is None and isinstance(model.prices, list):
        return Price(usd=None, reason=f"no time, and the price of {name} changed")
    prices = model.get_prices(datetime.fromtimestamp((at or 0) / 1e9, tz=UTC))
    if (usage.input_tokens and prices.input_mtok is None) or (usage.output_tokens and prices.output_mtok is None):
        return Price(usd=None, reason=f"no price per token for {name}")
    try:
        parts = prices.calc_price(asked)
    except ValueError:
        return Price(usd=None, reason="tokens that contradict each other")
    return Price(usd=parts["total_price"], input_usd=parts["input_price"], output_usd=parts["output_price"])


def price_of(call: ModelCall, at: int | None) -> Price:
    """Return what a model call costs by the catalogue; the model that answered goes before the one that was asked."""
    return price(call.usage, models=(call.response_model, call.request_model), provider=call.provider, at=at)
