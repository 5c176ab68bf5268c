"""What is known of each call before its effect is settled: whether it ran, its class and names, what it answered."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanproof_collector.model.readings import Absent, Recorded
from spanproof_collector.model.tool_catalogue import CatalogueTool
from spanproof_collector.model.trials import ClassSource, EffectClass
from spanproof_collector.trials.effects.identity import Names
from spanproof_collector.trials.effects.outcomes import Ran
from spanproof_collector.trials.tool_calls import JoinedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One call. Times in Unix nanoseconds."""

    call: JoinedCall
    ran: Ran
    effect_class: EffectClass
    class_source: ClassSource | None
    names: Names
    entry: CatalogueTool | None
    """The confirmed entry of the catalogue for its tool."""

    begun: int
    """When it began; of a call that no span tells of, when it was asked for."""

    ended: int
    """When it ended, as far as anybody knows."""

    @property
    def span_id(self) -> str | None:
        """The span to look at: the tool's, else that of the inference that asked for it."""
        if self.call.runs:
            return self.call.runs[0][0].span.span_id
        return self.call.asked_by.span.span_id if self.call.asked_by is not None else None

    @property
    def answer(self) -> Recorded:
        """What it answered: on its span, else in a message."""
        results: Sequence[Recorded] = [run.result for _, run in reversed(self.call.runs)]
        return next((each for each in results if not isinstance(each, Absent)), self.call.response)

    @property
    def may_change(self) -> bool:
        """True where it may have changed something: it may have run, and is not known to be harmless."""
        return self.effect_class not in ("read", "handoff") and self.ran.executed != "no"

    def after(self, other: "Facts") -> bool:
        """Return whether this began after the other was over. Calls of one answer may have run at once."""
        if self.call.asked_at <= other.call.asked_at or self.begun < other.ended:
            return False
        together = self.call.asked_by is not None and self.call.asked_by is other.call.asked_by
        return not together or (other.ended > other.begun and self._timed and other._timed)

    @property
    def _timed(self) -> bool:
        return bool(self.call.runs) and all(item.timed for item, _ in self.call.runs)
