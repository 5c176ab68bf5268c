"""A predicate of one's own in this process: of who wrote it beside the trials, and so trusts it."""

from collections.abc import Callable

from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Verification
from spanproof_evaluators.verifiers._child import called
from spanproof_evaluators.verifiers._kind import GapError, gap
from spanproof_evaluators.verifiers._verifier import Verifier
from spanproof_evaluators.verifiers.python import checks_told, something_to_judge

Predicate = Callable[[EndState | None, EndState], object]
"""The state before (``None``: nobody recorded it) and after in; out what a ``python`` check returns."""


def by_function(function: Predicate, *, name: str) -> Verifier:
    """Return the verifier that a function is. Its answers mean what those of a ``python`` check do.

    False and an AssertionError say no; any other error says that it could not judge. With nothing recorded it is not
    asked. Ctrl-C stays one.
    """

    def verify(before: EndState | None, after: EndState) -> Verification:
        interrupted: list[KeyboardInterrupt] = []

        def ask(earlier: EndState | None, later: EndState) -> object:
            try:
                return function(earlier, later)
            except KeyboardInterrupt as error:
                interrupted.append(error)
                raise

        try:
            something_to_judge(before, after)
            told = called(ask, before, after, {})
            if interrupted:
                raise interrupted[0]
            return Verification.of(checks_told(told, name))
        except GapError as error:
            return Verification.of([gap(name, error)])

    return verify
