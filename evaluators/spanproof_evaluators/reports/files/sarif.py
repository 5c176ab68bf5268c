"""SARIF 2.1.0: what rules and checks found, with spans as logical locations, for code scanning and editors."""

import json
from typing import Final

from spanproof_evaluators.model.assessments import Assessment, by_urgency
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.outcomes import OUTCOME
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.sections import every
from spanproof_evaluators.reports.wording import clean

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_FOUND: Final = ("fail", "failed")


def report_sarif(report: Report) -> str:
    """Return the report as SARIF. Results that passed or are unavailable are no findings and not in it."""
    found = [
        (one, result) for one in by_urgency(report.assessments) for result in one.all_results if result.state in _FOUND
    ]
    rules = {result.evaluator: result.version for _, result in found}
    names = sorted(rules)
    return json.dumps(
        {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "spanproof",
                            "rules": [
                                {
                                    "id": name,
                                    "name": name,
                                    "shortDescription": {"text": name.replace("_", " ")},
                                    "properties": {"version": rules[name]},
                                }
                                for name in names
                            ],
                        }
                    },
                    "results": [_finding(one, result, names.index(result.evaluator)) for one, result in found],
                    "properties": {
                        "certificate": report.certificate,
                        "judge_flags": [clean(sentence) for sentence in judge_flags(report.assessments)],
                        "measures": {
                            clean(variant.name): {
                                section.title: {
                                    clean(name): variant.numbers[name].to_json() for name in section.measures
                                }
                                for section in every(report)
                            }
                            for variant in report.variants
                        },
                    },
                }
            ],
        },
        indent=1,
    )


def _finding(one: Assessment, result: Result, rule: int) -> dict[str, Plain]:
    trial = one.trial
    traces = {step.span_id: step.trace_id for step in trial.steps}
    spans = result.span_ids or ((trial.claim.span_id,) if result.evaluator == OUTCOME and trial.claim.span_id else ())
    named = [f"{traces[span]}/{span}" if span in traces else span for span in spans] or [trial.trial_id]
    places: list[Plain] = [{"fullyQualifiedName": clean(name), "kind": "span" if spans else "trial"} for name in named]
    location: dict[str, Plain] = {"logicalLocations": places}
    if trial.path is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(trial.path)}}
    return {
        "ruleId": result.evaluator,
        "ruleIndex": rule,
        "level": "note" if result.label == "diagnostic" else "warning" if result.kind == "judge" else "error",
        "message": {"text": clean(result.explanation or result.reason or result.state)},
        "locations": [location],
        "partialFingerprints": {"trial/evaluator": f"{trial.project}/{trial.key}/{result.evaluator}"},
        "properties": {
            "trial_id": trial.trial_id,
            "task_id": trial.task_id,
            "variant": trial.variant,
            "false_success": one.false_success,
        },
    }


def _uri(path: str) -> str:
    from pathlib import PurePosixPath
    from urllib.parse import quote

    return quote(str(PurePosixPath(path)))
