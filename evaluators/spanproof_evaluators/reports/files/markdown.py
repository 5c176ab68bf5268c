"""Markdown for a pull request: the decision, the signals as a table, the gates that did not pass, what needs a look."""

import re
from collections.abc import Sequence
from typing import Final

from spanproof_evaluators.model.assessments import by_urgency
from spanproof_evaluators.model.reports import Report, VariantReport
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.sections import Section, bracket, every, shown, tasks_of
from spanproof_evaluators.reports.trust import card_line
from spanproof_evaluators.reports.wording import (
    beside,
    gate_says,
    headline,
    marked_because,
    marks,
    one_line,
    plural,
)

_ACTIVE: Final = re.compile(r"([\\`*_{}\[\]()#+!|<>~&@$:-])")
"""What could become markup, a mention, a table's border or a link."""

LISTED: Final = 20
"""How many trials are listed; the HTML report and JSON have all."""


def report_markdown(report: Report) -> str:
    """Return the report as Markdown with tables, as GitHub, GitLab and Gitea render them."""
    title = plural(len(report.assessments), "trial")
    if report.suite_id is not None:
        title += f" of suite {_text(report.suite_id)}"
    lines = [f"## spanproof: {title}", ""]
    for sentence in report.inversions:
        lines += [f"**Inversion.** {_text(sentence, 600)}", ""]
    for sentence in judge_flags(report.assessments):
        lines += [f"**Judge.** {_text(sentence, 600)}", ""]
    lines += _table(
        ("Variant", "Decision", "Why"),
        [(_text(one.name), f"**{one.decision.decision}**", _why(one)) for one in report.variants],
    )
    for section in every(report):
        lines += _section(section, report)
    listed = [one for one in by_urgency(report.assessments) if marks(one)]
    if listed:
        lines += [f"{plural(len(listed), 'trial')} to look at:", ""]
        lines += _table(
            ("Trial", "Task", "Mark", "Why"),
            [
                (
                    _text(one.trial.trial_id),
                    _text(one.trial.task_id or ""),
                    _text(", ".join(marks(one))),
                    _text(marked_because(one)),
                )
                for one in listed[:LISTED]
            ],
        )
        if len(listed) > LISTED:
            lines += [f"and {len(listed) - LISTED} more.", ""]
    if report.trust is not None:
        lines += [_text(card_line(report.trust, report.suite_hash)), ""]
    lines.append(f"Certificate `{report.certificate}`")
    return "\n".join(lines) + "\n"


def _section(section: Section, report: Report) -> list[str]:
    """Return a part as a table under its heading, what no variant has in one line below it."""
    told, lacking = shown(section, report, whole=False)
    lines = [f"### {_text(section.title)}", ""]
    if told:
        lines += _table(
            ("Measure", *(_text(one.name) for one in report.variants)),
            [
                (_text(called), *(_number(one, name, report) for one in report.variants))
                for name, called in told.items()
            ],
        )
    if lacking:
        lines += [f"unavailable: {_text(', '.join(lacking), 400)}", ""]
    return lines


def _why(variant: VariantReport) -> str:
    """Return every gate that did not pass, the deciding one first."""
    open_ = [said for said in variant.decision.gates if said.decision != "pass"]
    open_.sort(key=lambda said: said.gate.id != variant.decision.decided_by)
    return (
        "<br>".join(f"{_text(said.gate.id)} ({said.decision}): {_text(gate_says(said))}" for said in open_)
        or "every gate passes"
    )


def _number(variant: VariantReport, name: str, report: Report) -> str:
    measure = variant.numbers[name]
    told = _text(" ".join(filter(None, (headline(measure, tasks_of(name, variant)), bracket(report, name, variant)))))
    more = _text(beside(measure), 200)
    return f"{told}<br><sub>{more}</sub>" if more else told


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    border = "|".join("---" for _ in heads)
    return [f"| {' | '.join(heads)} |", f"|{border}|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def _text(text: str, longest: int = 160) -> str:
    """Return text on one line in which nothing is markup."""
    return _ACTIVE.sub(r"\\\1", one_line(text, longest))
