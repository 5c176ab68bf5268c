"""Costs: exact prices by model, provider and date, a bill before the catalogue, and nothing unknown for $0."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices.data import providers
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot

from spanproof_collector.model.readings import Usage
from spanproof_collector.store import Store
from spanproof_collector.trials.prices import catalogue, price
from tests.factories import agent, chat, said, span, traces
from tests.shared import GOLDEN, needs_golden
from tests.storing import trial_of


def _at(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000_000


# input, of it read from and written to the cache, output, in tokens; total in USD: genai-prices 0.2.3, executed
@pytest.mark.parametrize(
    ("model", "provider", "day", "tokens", "usd"),
    [
        ("gpt-4o", "openai", "2026-01-01", (1000, None, None, 100), "0.0035"),
        ("gpt-4o", "openai", "2026-01-01", (1000, 800, None, 100), "0.0025"),
        ("o3", "openai", "2025-05-01", (1_000_000, None, None, 1_000_000), "50"),
        ("o3", "openai", "2025-09-01", (1_000_000, None, None, 1_000_000), "10"),
        ("claude-3-5-sonnet-20241022", "anthropic", "2026-01-01", (1000, 500, 300, 100), "0.003375"),
        ("gemini-2.5-pro", "google", "2026-01-01", (100_000, None, None, 1000), "0.135"),
        ("gemini-2.5-pro", "google", "2026-01-01", (300_000, None, None, 1000), "0.765"),
        # reads at a tenth of $3 a million, writes at $3.75, the rest at $3: not $0.0057, where writes cost nothing more
        ("claude-sonnet-4-5", "anthropic", "2026-01-01", (10_000, 9000, 500, 0), "0.006075"),
        # the conventions' and the Vercel AI SDK's words for the same provider
        ("gemini-2.5-pro", "gcp.gen_ai", "2026-01-01", (100_000, None, None, 1000), "0.135"),
        ("gpt-4o", "openai.chat", "2026-01-01", (1000, None, None, 100), "0.0035"),
        ("gpt-4o", None, "2026-01-01", (1000, None, None, 100), "0.0035"),
        ("gpt-4o", "strands-agents", "2026-01-01", (1000, None, None, 100), "0.0035"),
    ],
)
def test_a_price_is_exact_by_model_provider_and_date(
    model: str, provider: str | None, day: str, tokens: tuple[int, int | None, int | None, int], usd: str
) -> None:
    given, read, written, answered = tokens
    usage = Usage(input_tokens=given, cache_read_tokens=read, cache_write_tokens=written, output_tokens=answered)
    assert price(usage, models=(model,), provider=provider, at=_at(day)).usd == Decimal(usd)


@pytest.mark.parametrize(
    ("model", "provider", "usage", "reason"),
    [
        (
            "no-such-model",
            "openai",
            Usage(input_tokens=1000, output_tokens=100),
            "no price for no-such-model of openai",
        ),
        ("gpt-4o", "a-gateway", Usage(input_tokens=1000, output_tokens=100), "no price for gpt-4o of a-gateway"),
        (
            "gpt-4o",
            "openai",
            Usage(input_tokens=100, cache_read_tokens=800, output_tokens=100),
            "tokens that contradict each other",
        ),
        ("gpt-4o", "openai", Usage(input_tokens=100), "tokens not recorded"),
        (None, "openai", Usage(input_tokens=100, output_tokens=1), "no model name"),
    ],
)
def test_what_the_catalogue_cannot_price_has_no_price(
    model: str | None, provider: str, usage: Usage, reason: str
) -> None:
    found = price(usage, models=(model,), provider=provider, at=_at("2026-01-01"))
    assert (found.usd, found.reason) == (None, reason)


@needs_golden
def test_the_golden_cases_of_the_catalogue() -> None:
    golden = json.loads((GOLDEN / "G26_cost_from_price_catalogue.json").read_text())
    for given, expected in zip(golden["inputs"], golden["expected"], strict=True):
        found = price(
            Usage(**given["usage"]),
            models=(given["model"],),
            provider=given["provider"],
            at=_at(given.get("at", "2026-01-01")),
        )
        amounts = {"total_usd": found.usd, "input_usd": found.input_usd, "output_usd": found.output_usd}
        for name, amount in amounts.items():
            assert amount == (Decimal(expected[name]) if name in expected else None), (given, name)


def test_prices_that_somebody_loads_into_the_process_change_nothing() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100)
    set_custom_snapshot(DataSnapshot(providers=[p for p in providers if p.id != "openai"], from_auto_update=True))
    try:
        assert price(usage, models=("gpt-4o",), provider="openai", at=_at("2026-01-01")).usd == Decimal("0.0035")
    finally:
        set_custom_snapshot(None)


def _call(**more: object) -> dict[str, object]:
    base = {
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.provider.name": "openai",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 100,
    }
    return chat([said("user", "x")], [said("assistant", "Done.")], **base | more)


def test_calls_without_a_bill_are_priced_and_the_catalogue_is_named(store: Store) -> None:
    usage = {"gen_ai.usage.input_tokens": 2000, "gen_ai.usage.output_tokens": 200}
    trial = trial_of(
        store,
        traces(
            # the agent's sum is not counted again
            span("run", agent(**{"gen_ai.request.model": "gpt-4o"} | usage), seconds=9),
            span("chat", _call(), key="m1", parent="run"),
            span("chat", _call(), key="m2", parent="run", at=1),
        ),
    )
    assert (trial.cost.usd, trial.cost.covered, trial.cost.reason) == (Decimal("0.0070"), True, None)
    assert (trial.cost.source, trial.cost.catalogue) == ("catalogue", catalogue())
    assert catalogue().startswith("genai-prices ")


def test_a_bill_stands_before_the_catalogue(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", _call(**{"spanproof.cost.usd": "0.0001"}), key="m1", parent="run"),
            span("chat", _call(), key="m2", parent="run", at=1),
        ),
    )
    assert (trial.cost.usd, trial.cost.covered, trial.cost.source) == (Decimal("0.0036"), True, "bill and catalogue")


def test_a_bill_around_the_calls_covers_them(store: Store) -> None:
    trial = trial_of(
        store,
        traces(span("run", agent(**{"spanproof.cost.usd": "0.02"}), seconds=9), span("chat", _call(), parent="run")),
    )
    assert (trial.cost.usd, trial.cost.source, trial.cost.catalogue) == (Decimal("0.02"), "bill", None)


def test_a_call_that_nobody_can_price_leaves_a_lower_bound(store: Store) -> None:
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", _call(), key="m1", parent="run"),
            span("chat", _call(**{"gen_ai.request.model": "house-model-1"}), key="m2", parent="run", at=1),
        ),
    )
    assert (trial.cost.usd, trial.cost.covered) == (Decimal("0.0035"), False)
    assert trial.cost.reason == "1 of 2 model calls without a price: no price for house-model-1 of openai"


def test_a_run_that_nobody_can_price_has_no_cost_and_not_none_at_all(store: Store) -> None:
    trial = trial_of(store, traces(span("chat", _call(**{"gen_ai.request.model": "house-model-1"}))))
    assert (trial.cost.usd, trial.cost.covered, trial.cost.catalogue) == (None, False, None)


def test_a_call_that_failed_without_tokens_costs_nothing_and_leaves_the_rest_covered(store: Store) -> None:
    refused = chat([said("user", "x")], None, **{"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"})
    trial = trial_of(
        store,
        traces(
            span("run", agent(), seconds=9),
            span("chat", refused, key="m1", parent="run", error="503"),
            span("chat", _call(), key="m2", parent="run", at=2),
        ),
    )
    assert (trial.cost.usd, trial.cost.covered) == (Decimal("0.0035"), True)
