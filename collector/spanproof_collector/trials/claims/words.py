"""Words and flags by which a structured value says how the work ended."""

import re
from typing import Final

from spanproof_collector.model.trials import ClaimState
from spanproof_collector.model.values import Json

_SAYING_WORDS: Final = """status outcome state success succeeded successful completed complete finished done solved
    resolved passed task_completed task_complete is_complete is_completed is_done is_success is_successful
    goal_achieved completion completion_status task_status final_status result_status verdict"""
_SAYING: Final = frozenset(_SAYING_WORDS.split())
_ENDING: Final = frozenset(
    {"finish", "finished", "finalize", "complete", "completed", "completion", "done", "terminate"}
)
_GIVING: Final = frozenset({"submit", "final", "give", "return", "report", "provide"})
_GIVEN: Final = frozenset({"answer", "result", "results", "solution", "response", "output"})
_BESIDE: Final = (
    _ENDING
    | _GIVING
    | _GIVEN
    | frozenset({"task", "tasks", "attempt", "work", "agent", "run", "the", "my", "as", "mark", "is", "goal", "job"})
)
_SUCCESS: Final = """success succeeded successful complete completed done finished solved resolved ok pass passed true
    yes    achieved fulfilled accomplished"""
_FAILURE: Final = """failure failed fail error errored unsuccessful impossible infeasible unsolved unresolved blocked
    aborted abort cancelled canceled not_completed not_done not_solved cannot_complete could_not_complete gave_up
    give_up    giving_up unable rejected no false"""
_PARTIAL: Final = """partial partially partially_complete partially_completed partially_done partial_success
    partially_successful incomplete completed_with_errors completed_with_issues mostly_complete"""
_WORST_FIRST: Final[tuple[tuple[ClaimState, frozenset[str]], ...]] = (
    ("failure", frozenset(_FAILURE.split())),
    ("partial", frozenset(_PARTIAL.split())),
    ("success", frozenset(_SUCCESS.split())),
)


def plain(text: str) -> str:
    """Return a name in lower case, with single underscores between its words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.strip()[:80])
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def ends_the_work(name: str) -> bool:
    """Return whether the name of a call says that the agent has finished: finish, submit_answer, attempt_completion."""
    words = set(plain(re.split(r"[./:]|__", name)[-1]).split("_"))
    if not _BESIDE.issuperset(words):
        return False
    return bool(_ENDING & words) or (bool(_GIVEN & words) and bool(_GIVING & words)) or words == {"submit"}


def state_in(value: Json) -> ClaimState | None:
    """Return what an object's own fields say of the end, ``None`` where none does; the worst of several counts."""
    if not isinstance(value, dict):
        return None
    said = {plain(str(told)) for key, told in value.items() if plain(key) in _SAYING and isinstance(told, bool | str)}
    return next((state for state, words in _WORST_FIRST if words & said), None)
