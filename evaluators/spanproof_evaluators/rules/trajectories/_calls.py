"""A trial's calls as the rules on its course compare them: signatures, answers, and whether they changed anything.

The rules of one trial are asked one after the other, so what was made of the last trial is kept.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.rules._ledger import took_place


class Calls:
    """The calls of one trial, in the order in which they were asked for."""

    def __init__(self, trial: Trial) -> None:
        self.all = trial.tool_calls
        self.whole = trial.completeness.calls_whole
        self._answers: dict[int, str | None] = {}

    @cached_property
    def signatures(self) -> tuple[str | None, ...]:
        """Tool and arguments with sorted keys as one text; ``None`` where the arguments are not recorded."""
        return tuple(
            None if call.arguments_source is None else canonical([call.name, call.arguments]) for call in self.all
        )

    @cached_property
    def changed(self) -> tuple[bool | None, ...]:
        """Whether a call changed something; ``None`` where nobody knows."""
        return tuple(changed(call) for call in self.all)

    @cached_property
    def blank(self) -> int:
        """Calls without recorded arguments that may equal another one: of the same tool."""
        names = Counter(call.name for call in self.all)
        return sum(text is None and names[call.name] > 1 for text, call in zip(self.signatures, self.all, strict=True))

    def answer(self, at: int) -> str | None:
        """Return result, error and exit code as one text; ``None`` where none of them is recorded."""
        if at not in self._answers:
            self._answers[at] = answer_of(self.all[at])
        return self._answers[at]

    def same_answer(self, one: int, other: int) -> bool | None:
        """Return whether two calls were answered alike; ``None`` where an answer is not recorded."""
        ours, theirs = self.answer(one), self.answer(other)
        return None if ours is None or theirs is None else ours == theirs


_last: tuple[Trial, Calls] | None = None


def calls_of(trial: Trial) -> Calls:
    """Return the calls of a trial."""
    global _last
    if _last is None or _last[0] is not trial:
        _last = (trial, Calls(trial))
    return _last[1]


def answer_of(call: ToolCall) -> str | None:
    """Return result, error and exit code of a call as one text; ``None`` where none of them is recorded."""
    if call.result_source is None and call.error is None and call.exit_code is None:
        return None
    return canonical([call.result, call.error, call.exit_code])


def changed(call: ToolCall) -> bool | None:
    """Return whether a call changed something; ``None`` where nobody knows. A read changes nothing."""
    effect = call.effect
    if effect.effect_class == "unclassified":
        return None if call.executed != "no" and effect.state != "none" else False
    return took_place(call) if effect.effect_class in ("write", "destructive") else False


def error_of(call: ToolCall) -> str | None:
    """Return the words of a call's error on one line; ``None`` where it has none.

    A call that was refused on purpose, or that waits for a decision, is no error (R042).
    """
    if call.error is None or call.effect.state == "refused" or call.effect.reason in ("refused", "deferred"):
        return None
    return " ".join(call.error.split()) or "error"


def error_text(call: ToolCall) -> str | None:
    """Return what tells one error of a tool from another; ``None`` where there is none."""
    error = error_of(call)
    return error if error is None or call.exit_code is None else f"{error} {answer_of(call)}"


def first_spans(calls: Iterable[ToolCall]) -> tuple[str, ...]:
    """Return the span of each call that has one, in order, each once."""
    return tuple(dict.fromkeys(span for call in calls for span in call.span_ids[:1]))


def named(calls: Sequence[ToolCall]) -> str:
    """Return the calls' tools with how often each is among them."""
    names = Counter(call.name or "a tool without a name" for call in calls)
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in sorted(names.items()))
