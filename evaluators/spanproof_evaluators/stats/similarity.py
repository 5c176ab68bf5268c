"""How alike two courses of calls are: as multisets of calls, and as sequences of tool names (evaluators.md B10)."""

from collections import Counter
from collections.abc import Sequence


def multiset_jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return what both have over what either has, each as often as it has it. Two that have nothing are alike: 1.

    Source: P. Jaccard, New Phytologist 11 (1912) 37-50, over multisets.
    """
    ours, theirs = Counter(one), Counter(other)
    either = (ours | theirs).total()
    return (ours & theirs).total() / either if either else 1.0


def edit_similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 less the edit distance over the longer length. Two that have nothing are alike: 1.

    The distance counts insertions, deletions and substitutions (V. I. Levenshtein, Soviet Physics Doklady 10 (1966)).
    """
    longer = max(len(one), len(other))
    return 1.0 - edit_distance(one, other) / longer if longer else 1.0


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many insertions, deletions and substitutions turn one sequence into the other.

    One row of the table is one integer, a bit a column: H. Hyyro, "A bit-vector algorithm for computing Levenshtein
    and Damerau edit distances", Nordic Journal of Computing 10 (2003) 29-39.
    """
    if not one or not other:
        return len(one) or len(other)
    places: dict[str, int] = {}
    for at, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << at
    full = (1 << len(one)) - 1
    last = 1 << (len(one) - 1)
    up, down, distance = full, 0, len(one)
    for item in other:
        match = places.get(item, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right_up = (down | ~(diagonal | up)) & full
        right_down = diagonal & up
        distance += bool(right_up & last) - bool(right_down & last)
        right_up = (right_up << 1 | 1) & full
        up = ((right_down << 1) & full | ~(diagonal | right_up)) & full
        down = right_up & diagonal
    return distance
