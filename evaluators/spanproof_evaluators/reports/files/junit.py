"""JUnit XML: a suite a variant, a case a gate and a case a trial, as continuous integration reads it.

A trial whose outcome is unavailable is skipped, with the reason; a gate that is inconclusive is an error, because a
release that nobody could judge must not look green.
"""

import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import GateResult
from spanproof_evaluators.model.reports import Report, VariantReport
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.sections import every, tasks_of
from spanproof_evaluators.reports.wording import beside, clean, headline, marks, solved_because

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""

_NANOSECONDS: Final = 1_000_000_000


def report_junit(report: Report) -> bytes:
    """Return the report as JUnit XML, in UTF-8."""
    root = Element("testsuites", name=_plain(f"spanproof {report.suite_id or ''}".strip()))
    for variant in report.variants:
        _suite(root, variant, report)
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _suite(root: Element, variant: VariantReport, report: Report) -> None:
    suite = SubElement(root, "testsuite", name=_plain(variant.name))
    properties = SubElement(suite, "properties")
    for section in every(report):
        for name in section.measures:
            measure = variant.numbers[name]
            told = "; ".join(filter(None, (headline(measure, tasks_of(name, variant)), beside(measure))))
            SubElement(properties, "property", name=_plain(f"{section.title}/{name}"), value=_plain(told))
    for number, sentence in enumerate(judge_flags(variant.assessments)):
        SubElement(properties, "property", name=f"Judge/{number}", value=_plain(sentence))
    for gate in variant.decision.gates:
        _gate(suite, variant.name, gate)
    for one in variant.assessments:
        _trial(suite, variant.name, one)
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def _gate(suite: Element, variant: str, said: GateResult) -> None:
    case = SubElement(suite, "testcase", classname=_plain(f"{variant}.gates"), name=_plain(said.gate.id))
    kinds = {"fail": "failure", "inconclusive": "error"}
    if said.decision in kinds:
        words = f"{said.limit}{'' if said.gate.hard else ', soft'}: {said.explanation}"
        SubElement(case, kinds[said.decision], type=said.decision, message=_plain(words)).text = _plain(
            said.gate.because
        )


def _trial(suite: Element, variant: str, one: Assessment) -> None:
    trial = one.trial
    case = SubElement(
        suite, "testcase", classname=_plain(f"{variant}.{trial.task_id or 'no task'}"), name=_plain(trial.trial_id)
    )
    if trial.timed:
        case.set("time", f"{(trial.ended_at - trial.started_at) / _NANOSECONDS:.3f}")
    if one.solved is True:
        return
    told = "; ".join([*marks(one), solved_because(one)])
    if one.solved is False:
        SubElement(case, "failure", type=one.outcome.state, message=_plain(told)).text = _plain(
            "\n".join(f"{check.name}: {check.seen}" for check in one.outcome.checks if check.passed is False)
        )
        return
    SubElement(case, "skipped", message=_plain(told))


def _plain(text: str) -> str:
    """Return text that XML can hold and that steers no terminal."""
    return _FORBIDDEN.sub("\ufffd", clean(text))
