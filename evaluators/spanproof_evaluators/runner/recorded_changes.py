"""The outcome by recorded state changes: what somebody saw change in the world, against what was meant to change.

Of such a recording only the actual changes and the meant ones are read; whatever verdict stands beside them is not.
What the state cannot show, the task's definition may ask for: words that the agent had to say to its user. Without such
a definition the state alone decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.canonical import Plain, canonical, plain
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.runner.judging import left_out
from spanproof_evaluators.runner.outcome_sources import RECORDED_CHANGES, STATE

VERSION: Final = "1"
_SHOWN: Final = 3
"""How many paths a check names; the others are counted."""

Changes = Mapping[str, str]
"""What changed: by path, the canonical text of the values before and after."""


@dataclass(frozen=True, slots=True)
class RecordedChanges:
    """Judges trials by the state changes that were recorded beside them."""

    @property
    def name(self) -> str:
        """As a verifier, ``recorded_changes``."""
        return RECORDED_CHANGES

    @property
    def declared(self) -> bool:
        """False: nobody declared a check."""
        return False

    def outcome(self, trial: Trial) -> Outcome | None:
        """Return the verdict on the last changes that were recorded of a trial, ``None`` where none were."""
        if not trial.recorded_changes:
            return None
        reason = left_out(trial)
        if reason in ("infrastructure", "waiting"):
            return Outcome.unavailable(reason, verifier=self.name)
        told = trial.recorded_changes[-1]
        if told.gold is None:
            return Outcome.unavailable("gold_changes_unknown", verifier=self.name)
        actual, gold = _changes(told.actual), _changes(told.gold)
        if actual is None or gold is None:
            return Outcome.unavailable("recorded_changes_unreadable", verifier=self.name)
        asked = _Asked.of(trial)
        nothing: Changes = {}
        before = Verification.of([*asked.of_the_state(nothing, gold), *asked.of_the_words(())])
        after = Verification.of([*asked.of_the_state(actual, gold), *asked.of_the_words(_said(trial, asked))])
        return Outcome.of(before, after, verifier=self.name, version=VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the definition of a task asks for beside its state."""

    words: tuple[str, ...] = ()
    with_calls: bool = False
    """Words count also where the agent asked for tools in the same breath."""

    state: bool = True
    """False where the state is no criterion."""

    more: tuple[str, ...] = ()
    """Criteria that recorded changes cannot show."""

    recorded: bool = True
    """False where the agent's words were not recorded."""

    whole: bool = True
    """False where only some of them were: a word that is not found may have been said."""

    @classmethod
    def of(cls, trial: Trial) -> "_Asked":
        """Read a definition of tau-bench (``outputs``) or of tau2-bench (``evaluation_criteria``)."""
        task = plain(trial.task_definition)
        whole = trial.completeness.content == "captured"
        heard = whole or bool(trial.spoken)
        if not isinstance(task, dict):
            return cls()
        criteria = task.get("evaluation_criteria")
        if not isinstance(criteria, dict):
            return cls(words=_texts(task.get("outputs")), recorded=heard, whole=whole)
        basis = _texts(criteria.get("reward_basis")) or ("DB", "COMMUNICATE")
        return cls(
            words=_texts(criteria.get("communicate_info")) if "COMMUNICATE" in basis else (),
            with_calls=True,
            state="DB" in basis,
            more=tuple(sorted(set(basis) - {"DB", "COMMUNICATE"})),
            recorded=heard,
            whole=whole,
        )

    def of_the_state(self, actual: Changes, gold: Changes) -> Sequence[Check]:
        """Return what the changes say, and which criteria they leave open."""
        found = [_compared(actual, gold)] if self.state else []
        return [*found, *(Check(name=name, passed=None, reason=f"needs_replay: {name}") for name in self.more)]

    def of_the_words(self, said: Sequence[str]) -> Sequence[Check]:
        """Return whether each required word was said, as the harnesses look for it: any case, no commas."""
        if not self.recorded:
            return [Check(name=f"said {word!r}", passed=None, reason="not_captured") for word in self.words]
        heard = [text.lower().replace(",", "") for text in said]
        found = []
        for word in self.words:
            count = sum(word.lower() in text for text in heard)
            seen = f"in {count} of {len(heard)} messages"
            if count or self.whole:
                found.append(Check(name=f"said {word!r}", passed=count > 0, seen=seen))
            else:
                found.append(Check(name=f"said {word!r}", passed=None, seen=seen, reason="not_captured"))
        return found


def _said(trial: Trial, asked: _Asked) -> list[str]:
    return [each.text for each in trial.spoken if asked.with_calls or not each.with_calls]


def _texts(value: Plain) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _changes(told: object) -> Changes | None:
    """Return changes by path, ``None`` where they are no list of ``{path, before, after}`` with each path once."""
    found = plain(told)
    if not isinstance(found, list):
        return None
    changes: dict[str, str] = {}
    for one in found:
        path = one.get("path") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(path, str) or path in changes:
            return None
        changes[path] = canonical([one.get("before"), one.get("after")])
    return changes


def _compared(actual: Changes, gold: Changes) -> Check:
    missing = sorted(gold.keys() - actual.keys())
    extra = sorted(actual.keys() - gold.keys())
    other = sorted(path for path in actual.keys() & gold.keys() if actual[path] != gold[path])
    told = [
        f"{what}: {', '.join(paths[:_SHOWN])}" + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        for what, paths in (("missing", missing), ("not meant", extra), ("other value", other))
        if paths
    ]
    return Check(name=STATE, passed=not told, seen="; ".join(told) or f"{len(gold)} changes, all as meant")
