"""What judging may cost. A request that could pass the ceiling is not sent, and those under way are waited for."""

from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Final

from spanproof_evaluators.judges.prompt import Request

CHARACTERS_A_TOKEN: Final = 3
"""Fewer than in common text, so that what is set aside is rather too much. What the provider counted takes its
place once a request is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens and money of one request or of many. Money is ``None`` where no price is known."""

    tokens: int = 0
    usd: Decimal | None = Decimal(0)

    def __add__(self, other: "Spent") -> "Spent":
        """Return both together: of unknown cost where either is."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spent(tokens=self.tokens + other.tokens, usd=usd)


class BudgetSpentError(Exception):
    """The next request could pass the ceiling."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """A ceiling for one run. ``None`` is no ceiling."""

    usd: Decimal | None = None
    tokens: int | None = None
    spent: Spent = field(default_factory=Spent)
    """What was answered, by what the providers counted; where they did not count, what was set aside."""

    held: Spent = field(default_factory=Spent)
    """What is set aside for requests under way."""

    def hold(self, most: Spent) -> None:
        """Set aside what a request may cost.

        Raises:
            BudgetSpentError: that could pass the ceiling.
        """
        after = self.spent + self.held + most
        if self.tokens is not None and after.tokens > self.tokens:
            raise BudgetSpentError
        if self.usd is not None and (after.usd is None or after.usd > self.usd):
            raise BudgetSpentError
        self.held += most

    def settle(self, most: Spent, took: Spent) -> None:
        """Give back what was set aside, and count what it took."""
        usd = None if self.held.usd is None or most.usd is None else self.held.usd - most.usd
        self.held = Spent(tokens=self.held.tokens - most.tokens, usd=usd)
        self.spent += took


def most_tokens(request: Request, longest: int) -> tuple[int, int]:
    """Return how many tokens a request and its answer are taken to have at most."""
    return ceil((len(request.system) + len(request.user)) / CHARACTERS_A_TOKEN) + 64, longest
