"""What a verifier is."""

from typing import Protocol

from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Verification


class Verifier(Protocol):
    """Judges the world after a trial by what it was before. It is given no transcript, so none can persuade it."""

    def __call__(self, before: EndState | None, after: EndState, /) -> Verification:
        """Return what the checks found. ``before`` is ``None`` where nobody recorded it."""
