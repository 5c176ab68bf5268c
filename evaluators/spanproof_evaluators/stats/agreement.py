"""Agreement of raters: two by their table, any number by what each said of each item, what nobody said left out.

Every coefficient is ``None`` where it is not defined: no item with two ratings, or a single category in use, of which
no agreement beyond chance can be told.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean
from typing import TypeAlias

Rating: TypeAlias = str | int | bool
Ratings: TypeAlias = Sequence[Sequence[Rating | None]]
"""By item, what each rater said; ``None``: that rater said nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often one rater said this where the other said that."""

    categories: tuple[Rating, ...]
    matrix: tuple[tuple[int, ...], ...]
    """A row for each word of the first rater, a column for each of the second."""

    left_out: int = 0
    """Items that one of the two said nothing of."""

    @property
    def items(self) -> int:
        """Items that both rated."""
        return sum(map(sum, self.matrix))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Cohen's kappa with its interval."""

    value: float
    interval: tuple[float, float]


def confusion(ratings: Ratings, categories: Sequence[Rating] | None = None) -> Confusion:
    """Return the table of two raters.

    Args:
        ratings: of each item the words of both.
        categories: the words in their order; those in use, sorted by their text, where nothing is given.

    Raises:
        ValueError: an item has not two raters, or a word is no category.
    """
    if any(len(item) != 2 for item in ratings):
        raise ValueError("a table is of two raters")
    known = tuple(categories) if categories is not None else _used(ratings)
    at = {name: place for place, name in enumerate(known)}
    counts = [[0] * len(known) for _ in known]
    left = 0
    for first, second in ratings:
        if first is None or second is None:
            left += 1
            continue
        if first not in at or second not in at:
            raise ValueError(f"{first!r} or {second!r} is none of the categories {known}")
        counts[at[first]][at[second]] += 1
    return Confusion(categories=known, matrix=tuple(map(tuple, counts)), left_out=left)


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of pairs of ratings of one item that are equal, each item counting once."""
    shares = [_equal(counts) for counts in _counted(ratings) if counts.total() > 1]
    return fmean(shares) if shares else None


def cohen_kappa(table: Confusion, *, level: float = 0.95) -> Kappa | None:
    """Return Cohen's kappa of two raters with its large-sample interval; ``None`` where one category is all there is.

    Source: J. Cohen, Educational and Psychological Measurement 20 (1960) 37-46; the variance after J. L. Fleiss,
    J. Cohen, B. S. Everitt, Psychological Bulletin 72 (1969) 323-327.
    """
    count = table.items
    if not count:
        return None
    shares = [[each / count for each in row] for row in table.matrix]
    rows = [sum(row) for row in shares]
    columns = [sum(column) for column in zip(*shares, strict=True)]
    places = range(len(shares))
    seen = sum(shares[at][at] for at in places)
    chance = sum(rows[at] * columns[at] for at in places)
    if 1 - chance < 1e-12:
        return None
    kappa = (seen - chance) / (1 - chance)
    along = sum(shares[at][at] * (1 - (rows[at] + columns[at]) * (1 - kappa)) ** 2 for at in places)
    across = sum(shares[i][j] * (columns[i] + rows[j]) ** 2 for i in places for j in places if i != j)
    spread = along + (1 - kappa) ** 2 * across - (kappa - chance * (1 - kappa)) ** 2
    error = sqrt(max(spread, 0.0) / count) / (1 - chance)
    half = NormalDist().inv_cdf(1 - (1 - level) / 2) * error
    return Kappa(value=kappa, interval=(kappa - half, kappa + half))


def scott_pi(table: Confusion) -> float | None:
    """Return Scott's pi of two raters: chance by the share of each category over both.

    Source: W. A. Scott, Public Opinion Quarterly 19 (1955) 321-325.
    """
    count = table.items
    if not count:
        return None
    places = range(len(table.matrix))
    seen = sum(table.matrix[at][at] for at in places) / count
    both = [(sum(table.matrix[at]) + sum(row[at] for row in table.matrix)) / (2 * count) for at in places]
    chance = sum(share**2 for share in both)
    return None if 1 - chance < 1e-12 else (seen - chance) / (1 - chance)


def gwet_ac1(ratings: Ratings, categories: Sequence[Rating] | None = None) -> float | None:
    """Return Gwet's AC1 of any number of raters: chance is that of raters who guess where they do not know.

    Source: K. L. Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008) 29-48; items that a rater
    said nothing of count with the ratings they have.

    Args:
        ratings: of each item the words of all.
        categories: the words that could be said; those in use where nothing is given.
    """
    counted = [counts for counts in _counted(ratings) if counts]
    several = [counts for counts in counted if counts.total() > 1]
    known = tuple(categories) if categories is not None else _used(ratings)
    if not several or len(known) < 2:
        return None
    seen = fmean(map(_equal, several))
    shares = [fmean(counts[name] / counts.total() for counts in counted) for name in known]
    chance = sum(share * (1 - share) for share in shares) / (len(known) - 1)
    return (seen - chance) / (1 - chance)


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha for words without an order, of any number of raters, missing ratings and all.

    Source: K. Krippendorff, Content Analysis (2004), section 11.3: one less the observed over the expected disagreement
    of pairs within an item.
    """
    several = [counts for counts in _counted(ratings) if counts.total() > 1]
    totals: Counter[Rating] = Counter()
    for counts in several:
        totals.update(counts)
    count = totals.total()
    if len(totals) < 2:
        return None
    seen = sum(counts.total() * (1 - _equal(counts)) for counts in several) / count
    expected = 1 - sum(each * (each - 1) for each in totals.values()) / (count * (count - 1))
    return 1 - seen / expected


def _equal(counts: Counter[Rating]) -> float:
    """Return the share of pairs of ratings of one item that are equal."""
    total = counts.total()
    return sum(each * (each - 1) for each in counts.values()) / (total * (total - 1))


def _counted(ratings: Ratings) -> list[Counter[Rating]]:
    return [Counter(word for word in item if word is not None) for item in ratings]


def _used(ratings: Ratings) -> tuple[Rating, ...]:
    return tuple(sorted({word for item in ratings for word in item if word is not None}, key=str))
