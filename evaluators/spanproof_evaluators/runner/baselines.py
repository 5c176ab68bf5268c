"""Which tasks pass untouched, as the stored trials show it."""

from collections.abc import Sequence

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.runner.measuring import task_key


def passes_untouched(assessments: Sequence[Assessment]) -> dict[str, bool | None]:
    """Return by task whether its checks passed on the state before the trial, when nothing was answered yet.

    A task passes untouched if it did so before any of its trials: start states are meant to be equal. ``None`` where no
    trial's state before was judged.
    """
    found: dict[str, bool | None] = {}
    for one in assessments:
        known = {"verified": True, "failed": False}.get(one.outcome.pre_state)
        key = task_key(one)
        so_far = found.setdefault(key, None)
        found[key] = known if so_far is None else so_far or known is True
    return found
