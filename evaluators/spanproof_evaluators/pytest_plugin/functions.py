"""A function of a test as a source of outcomes."""

import hashlib
import inspect
from dataclasses import dataclass, replace

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.runner.checking import recorded_state
from spanproof_evaluators.runner.judging import left_out
from spanproof_evaluators.verifiers import Predicate, by_function, judge


@dataclass(frozen=True, slots=True)
class FunctionChecks:
    """Judges what was recorded of the world, by a function."""

    function: Predicate

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    @property
    def declared(self) -> bool:
        """True: a person wrote it."""
        return True

    def outcome(self, trial: Trial) -> Outcome:
        """Return what the function says of the recorded end state."""
        reason = left_out(trial)
        if reason in ("infrastructure", "waiting"):
            return Outcome.unavailable(reason, verifier=self.name)
        before = recorded_state(trial, "before")
        seen = before.tables is not None or before.files is not None
        verifier = by_function(self.function, name=f"{self.name} says so")
        found = judge(verifier, before if seen else None, recorded_state(trial, "after"), name=self.name)
        return replace(found, definition=hashlib.sha256(self._code().encode()).hexdigest())

    def _code(self) -> str:
        """Return the function as it is written, its name where nobody can tell."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return self.name
