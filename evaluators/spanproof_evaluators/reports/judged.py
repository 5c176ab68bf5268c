"""What a run of judges came to, for machines and in a few lines for people."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.judgements import Judge, Judgement
from spanproof_evaluators.model.panels import PanelVerdict, agreement
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.rubrics import Rubric
from spanproof_evaluators.reports.machine import result_json
from spanproof_evaluators.reports.wording import because, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrial:
    """One judge's word on one trial."""

    trial_id: str
    result: Result
    judgement: Judgement | None
    """``None`` where nothing was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """What a run of judges came to."""

    rubric: Rubric
    judges: Sequence[Judge]
    asked: int
    """Verdicts that requests were made for."""

    kept: int
    """Verdicts that were there already."""

    left: int
    """Verdicts that were not asked for, because the run ended early."""

    stopped: str | None
    """Why it did, where that was not the budget."""

    tokens: int
    usd: Decimal | None
    """What this run took; ``None``: nobody knows."""

    unanswered: int
    left_for_later: int
    """Trials that are not settled."""

    words: Sequence[JudgedTrial]
    panels: Sequence[PanelVerdict]


def judged_json(report: JudgeReport) -> dict[str, Plain]:
    """Return the run as JSON values."""
    states = Counter(one.result.state for one in report.words)
    reasons = Counter(one.result.reason or "" for one in report.words if one.result.state == "unavailable")
    verdicts = [one.judgement for one in report.words if one.judgement is not None]
    usd = report.usd
    return {
        "rubric": {"id": report.rubric.id, "hash": report.rubric.hash},
        "judges": [{**one.told(), "hash": one.hash, "name": one.name} for one in report.judges],
        "verdicts": {state: states[state] for state in ("pass", "fail", "unavailable")},
        "abstained": sum(one.abstained > 0 and one.reason == "abstained" for one in verdicts),
        "unavailable": plain(dict(sorted(reasons.items()))),
        "flags": plain(dict(sorted(Counter(flag for one in verdicts for flag in one.flags).items()))),
        "asked": report.asked,
        "kept": report.kept,
        "left": report.left,
        "stopped": report.stopped,
        "left_for_later": report.left_for_later,
        "unanswered_before": report.unanswered,
        "spent": {"tokens": report.tokens, "usd": None if usd is None else format(usd, "f")},
        "panel": _panel(report.panels),
        "results": [result_json(one.trial_id, one.result) for one in report.words],
    }


def disagreements(report: JudgeReport) -> list[Plain]:
    """Return what people have to decide: trial by trial what the judges of a panel say, criterion by criterion."""
    found: list[Plain] = []
    for together in report.panels:
        if not together.disagrees:
            continue
        trials = dict.fromkeys(
            one.trial_id
            for one in report.words
            if one.judgement is not None and one.judgement.input_hash == together.input_hash
        )
        found.append(
            {
                "input_hash": together.input_hash,
                "trial_ids": list(trials),
                "rubric": report.rubric.id,
                "label": "disagreement",
                "criteria": list(together.criteria),
                "judges": [
                    {
                        "name": one.judge.name,
                        "judge_hash": one.judge.hash,
                        "state": one.state,
                        "answers": {each.criterion: each.answer for each in one.criteria},
                        "rationales": {each.criterion: each.rationale for each in one.criteria},
                    }
                    for one in together.judgements
                ],
            }
        )
    return found


def summary(report: JudgeReport) -> list[str]:
    """Return the run in lines."""
    told = judged_json(report)
    states, reasons, flags = Counter(one.result.state for one in report.words), told["unavailable"], told["flags"]
    lines = [
        f"{report.rubric.id}: {states['pass']} pass, {states['fail']} fail ({told['abstained']} of them in doubt), "
        f"{states['unavailable']} unavailable"
    ]
    for reason, count in reasons.items() if isinstance(reasons, dict) else ():
        lines.append(f"  {count} unavailable: {because(reason)}")
    for flag, count in flags.items() if isinstance(flags, dict) else ():
        lines.append(f"  FLAG {because(flag)}: {count}")
    usd = report.usd
    money = "cost not known" if usd is None else f"${usd:f}"
    lines.append(f"{report.asked} asked, {report.kept} kept from before; {report.tokens:,} tokens, {money}")
    if report.panels:
        counts = agreement(report.panels)
        lines.append(
            f"panel of {len(report.judges)}: unanimous on {counts.unanimous} of {counts.inputs} inputs, "
            f"{plural(counts.inputs - counts.unanimous, 'disagreement')} for people, {counts.incomplete} incomplete"
        )
    if report.unanswered:
        lines.append(
            f"{plural(report.unanswered, 'request')} under way when an earlier run ended: asked again; "
            "they may have been billed without an answer"
        )
    if report.left_for_later:
        lines.append(f"{plural(report.left_for_later, 'trial')} not settled yet, left for later")
    if report.left:
        why = report.stopped or "the budget ended"
        lines.append(f"{why}. {plural(report.left, 'verdict')} left: run it again to go on")
    return lines


def _panel(panels: Sequence[PanelVerdict]) -> Plain:
    if not panels:
        return None
    counts = agreement(panels)
    return {
        "inputs": counts.inputs,
        "unanimous": counts.unanimous,
        "disagreements": counts.inputs - counts.unanimous,
        "incomplete": counts.incomplete,
        "pairs": counts.pairs,
        "agreeing_pairs": counts.agreeing,
    }
