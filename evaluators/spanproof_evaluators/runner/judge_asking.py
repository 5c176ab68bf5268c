"""Asking judges: journal, budget, pace, spans and providers put together for one run."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spanproof_collector.model.filters import JUDGE_PROJECT
from spanproof_collector.model.readings import Usage
from spanproof_collector.trials import prices
from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.asking import Desk, Pace, Patience, Work
from spanproof_evaluators.judges.budget import Budget, Spent
from spanproof_evaluators.judges.cassettes import read_cassette, replay
from spanproof_evaluators.judges.journal import Journal
from spanproof_evaluators.judges.pool import Judged, Progress, judge_all
from spanproof_evaluators.judges.providers import EXTRA_BODY, provider
from spanproof_evaluators.judges.tracing import JudgeTraces
from spanproof_evaluators.model.judgements import Judge, JudgeUsage

Cost = tuple[Decimal | None, str | None]
"""USD, or ``None`` and why."""

_PRICED: Final = {"bedrock": "aws"}
"""A provider, and what the catalogue of prices calls it, where that is another name."""

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How judges are asked in one run."""

    journal: Path
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Addresses of your own by name of the judge; that of every other judge by ``""``."""

    budget_usd: Decimal | None = None
    budget_tokens: int | None = None
    jobs: int = 4
    per_minute: float | None = None
    seconds: float = 120.0
    """For one request."""

    again: bool = False
    patience: Patience = field(default_factory=Patience)

    def base_url(self, judge: Judge) -> str | None:
        """Return the address of a judge, ``None`` where it is the provider's own."""
        return self.base_urls.get(judge.name, self.base_urls.get(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What asking came to."""

    judged: Judged
    spent: Spent
    """By this run alone; what the journal held already was paid before."""

    unanswered: int
    """Requests of earlier runs that were under way when their process ended."""

    spans: "tuple[ReadableSpan, ...]"
    notes: tuple[str, ...] = ()
    """What the client library remarks: a setting, say, that a model does not take."""


def ask_judges(
    works: Sequence[Work], judges: Sequence[Judge], asking: Asking, progress: Progress = lambda done, of: None
) -> Asked:
    """Return the verdicts that are wanted: those of the journal, and the others by asking.

    Raises:
        JudgeSetupError: a judge cannot be asked, or its price is not known and there is a budget in money.
    """

    def cost(judge: Judge, usage: JudgeUsage, served: str | None) -> Cost:
        return price(judge, usage, served, own_address=asking.base_url(judge) is not None, at=time.time_ns())

    if asking.budget_usd is not None:
        for judge in judges:
            usd, why = cost(judge, JudgeUsage(input_tokens=1, output_tokens=1), None)
            if usd is None:
                raise JudgeSetupError(f"a budget in money needs prices ({judge.name}: {why}). Give --budget-tokens")
    for judge in judges:
        if "extra_body" in judge.settings and judge.provider not in EXTRA_BODY:
            raise JudgeSetupError(f"requests to {judge.provider} take no more members: leave --extra-body out")
    traces = JudgeTraces(JUDGE_PROJECT)
    budget = Budget(usd=asking.budget_usd, tokens=asking.budget_tokens)
    pace = Pace(per_minute=asking.per_minute)
    with Journal(asking.journal) as journal:
        unanswered = journal.unanswered()
        desks = {
            judge.hash: Desk(
                provider=provider(
                    judge.provider,
                    judge.model,
                    base_url=asking.base_url(judge),
                    seconds=asking.seconds,
                    tracers=traces.provider,
                ),
                journal=journal,
                budget=budget,
                pace=pace,
                price=cost,
                patience=asking.patience,
            )
            for judge in judges
        }
        with warnings.catch_warnings(record=True) as remarks:
            warnings.filterwarnings("always", category=UserWarning)
            judged = judge_all(works, desks, jobs=asking.jobs, again=asking.again, progress=progress)
    return Asked(
        judged=judged,
        spent=budget.spent,
        unanswered=unanswered,
        spans=tuple(traces.take()),
        notes=tuple(dict.fromkeys(str(one.message) for one in remarks)),
    )


def replay_judges(works: Sequence[Work], cassette: Path) -> Asked:
    """Return the verdicts that are wanted as a cassette has them.

    Raises:
        JudgeSetupError: it cannot be read, or a verdict of it is not what its answers come to.
    """
    judged = replay(works, read_cassette(cassette))
    return Asked(judged=judged, spent=Spent(), unanswered=0, spans=())


def price(judge: Judge, usage: JudgeUsage, served: str | None, *, own_address: bool, at: int) -> Cost:
    """Return what tokens cost by the catalogue, or why nobody knows."""
    if own_address:
        return None, "no price is known for an address of your own"
    found = prices.price(
        Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
        models=(served, judge.model),
        provider=_PRICED.get(judge.provider, judge.provider),
        at=at,
    )
    return found.usd, found.reason
