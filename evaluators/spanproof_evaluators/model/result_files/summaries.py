"""A baseline in percent: {ogolem, kategorie: {name: percent}, sr_krokow}, and perhaps sr_tokenow.

It has no counts, so nothing can be said of chance: only the point rules of the founding text can be held against it.
"""

from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.result_files._format import Item, ResultFile, ResultFormat, ScoreSummary, number


def _summary(items: Sequence[Item]) -> ResultFile:
    if len(items) != 1:
        raise ValueError("several baselines in one file: keep one")
    categories = items[0].get("kategorie")
    if not isinstance(categories, dict):
        raise ValueError("kategorie is no object of percentages by category")
    shares = {name: _percent(categories, name) for name in categories}
    return ResultFile(
        format="baza",
        summary=ScoreSummary(
            overall=_percent(items[0], "ogolem"),
            categories=shares,
            mean_steps=number(items[0], "sr_krokow"),
            mean_tokens=number(items[0], "sr_tokenow"),
        ),
    )


def _percent(item: Item, key: str) -> float:
    found = number(item, key)
    if found is None or not 0 <= found <= 100:
        raise ValueError(f"{key} is {item.get(key)!r}, and no percentage")
    return found


SUMMARY: Final = ResultFormat(
    name="baza",
    required=frozenset({"ogolem", "kategorie", "sr_krokow"}),
    optional=frozenset({"sr_tokenow"}),
    read=_summary,
)
