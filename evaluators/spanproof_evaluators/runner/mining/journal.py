"""Failed trials as a journal: what was asked, what came of it, and the layer that it points to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.journal import Confirmed
from spanproof_evaluators.model.redacting import redacted
from spanproof_evaluators.model.result_files._format import JournalRow
from spanproof_evaluators.model.result_files.journals import LAYERS
from spanproof_evaluators.runner.mining.candidates import Candidate, fate_of
from spanproof_evaluators.runner.mining.layers import Suggestion, is_failure, suggest

_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One failure."""

    one: Assessment
    suggestion: Suggestion
    confirmed: Confirmed | None

    @property
    def layer(self) -> str | None:
        """The layer that a person confirmed, else the suggested one."""
        return self.confirmed.layer if self.confirmed is not None else self.suggestion.layer

    @property
    def task(self) -> str:
        """What was to be done, in a line without personal data."""
        trial = self.one.trial
        return trial.task_id or _line(trial.prompt or trial.trial_id)

    @property
    def result(self) -> str:
        """What came of it, in a line without personal data."""
        one = self.one
        said = '"done"; ' if one.declared else ""
        why = one.outcome.reason if one.outcome.state == "failed" else one.solved_reason
        if one.unknown and one.outcome.state != "failed":
            why = "an effect that nobody knows of"
        if one.trial.status in ("error", "aborted") and one.outcome.state != "failed":
            why = f"{one.trial.status}: {one.trial.status_reason or 'no reason'}"
        return said + _line(why)


def journal(assessments: Iterable[Assessment], confirmed: Mapping[str, Confirmed]) -> list[Entry]:
    """Return the failures, the newest first."""
    found = [
        Entry(one=one, suggestion=suggest(one), confirmed=confirmed.get(one.trial.trial_id))
        for one in assessments
        if is_failure(one)
    ]
    return sorted(found, key=lambda entry: (-entry.one.trial.started_at, entry.one.trial.trial_id))


def counts(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    """Return how many failures point to each layer: confirmed, and merely suggested."""
    sure: Counter[str] = Counter(entry.confirmed.layer for entry in entries if entry.confirmed is not None)
    open_: Counter[str] = Counter(entry.suggestion.layer or "none" for entry in entries if entry.confirmed is None)
    return {name: {"confirmed": sure[name], "suggested": open_[name]} for name in (*LAYERS, "none")}


def rows(entries: Sequence[Entry]) -> list[JournalRow]:
    """Return the entries as rows of a table; a layer that nobody confirmed has a question mark."""
    return [
        JournalRow(
            task=entry.task,
            result=entry.result,
            layer=entry.confirmed.layer if entry.confirmed is not None else f"{entry.layer or ''}?",
        )
        for entry in entries
    ]


def as_candidate(entry: Entry) -> Candidate:
    """Return a failure as a candidate for a task."""
    text, found = redacted(entry.one.trial.prompt or "")
    return Candidate(one=entry.one, fate=fate_of(entry.one), stratum="journal", prompt=text, redactions=found)


def _line(text: str) -> str:
    plain = " ".join(redacted(text)[0].split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
