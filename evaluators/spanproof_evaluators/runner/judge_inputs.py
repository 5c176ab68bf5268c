"""From a trial to what a judge sees: the one place where this is done.

Taken are the task's text and source, as a person wrote them, and the submitted answer or the final diff of the recorded
end state. Nothing else of the trial is read here, so nothing else can reach a judge.
"""

import json
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import EndState, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.judge_sources import JudgeSources
from spanproof_evaluators.model.rubrics import Rubric
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.runner.judging import left_out

DIFF_TABLE: Final = "git.diff"
"""The table of a recorded end state that holds the diff of a repository, one patch a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """Why there is nothing to ask a judge about."""

    reason: str
    explanation: str


def judge_input(
    trial: Trial, rubric: Rubric, suite: Suite | None, declared: JudgeSources | None = None
) -> JudgeInput | NotJudged:
    """Return what a judge is told of a trial's work, or why it is told nothing."""
    out = left_out(trial)
    if out is not None:
        return NotJudged(reason=out, explanation=f"the trial is left out: {out}")
    task_text, source = declared.of(trial.trial_id, trial.task_id) if declared else (None, None)
    task = suite.task(trial.task_id) if suite else None
    if task is not None:
        task_text = task_text if task_text is not None else task.prompt or None
        source = source if source is not None else task.source
    if task_text is None:
        return NotJudged(reason="no_task_text", explanation="neither the suite nor a sources file says what was asked")
    if rubric.uses_source and source is None:
        return NotJudged(
            reason="no_source", explanation=f"rubric {rubric.id} judges by a source, and nobody gave one for this task"
        )
    work = _diff(trial) if rubric.looks_at == "diff" else _answer(trial)
    if isinstance(work, NotJudged):
        return work
    return JudgeInput(
        task=str(task_text),
        criteria=asked(rubric),
        source=str(source) if rubric.uses_source else None,
        answer=work,
        looks_at=rubric.looks_at,
    )


def _answer(trial: Trial) -> str | NotJudged:
    if trial.final_answer is not None:
        return str(trial.final_answer)
    if trial.completeness.content == "captured":
        return NotJudged(reason="no_answer_submitted", explanation="the agent submitted no answer")
    return NotJudged(reason="answer_not_captured", explanation="the content of the answer was not captured")


def _diff(trial: Trial) -> str | NotJudged:
    """Return the patches of the last end state after the trial."""
    after = max((one for one in trial.end_states if one.phase == "after"), key=lambda one: one.time, default=None)
    if after is None:
        return NotJudged(reason="no_end_state", explanation="no end state was recorded, so there is no final diff")
    if after.digest_matches is False:
        return NotJudged(reason="end_state_damaged", explanation="the recorded end state is not what its digest says")
    patches = _patches(after)
    if patches is None:
        return NotJudged(
            reason="no_diff", explanation=f"the recorded end state has no table {DIFF_TABLE} with whole patches"
        )
    return "\n".join(patches)


def _patches(after: EndState) -> list[str] | None:
    """Return the patches, ``None`` where the table is missing, or holds the hash of a patch that was too large."""
    try:
        state: Plain = json.loads(after.state)
    except (ValueError, RecursionError):
        return None
    tables = state.get("tables") if isinstance(state, dict) else None
    rows = tables.get(DIFF_TABLE) if isinstance(tables, dict) else None
    if not isinstance(rows, list):
        return None
    patches = [row.get("patch") for row in rows if isinstance(row, dict)]
    found = [one for one in patches if isinstance(one, str) and not one.startswith("sha256:")]
    return found if len(found) == len(rows) else None
