"""What judges are told of tasks that no suite defines: task text and source, as people write them in a file.

    sources:
      - task_id: refund-1001
        task: Refund order ORD-1001 and tell the customer.
        source: Orders can be refunded within 30 days. ORD-1001 was bought on 2026-11-02.
      - trial_id: 7f3c2a9e
        task: What is the notice period?
        source: The notice period is three months to the end of a quarter.

Where a suite has the task too, what stands here is taken instead, part by part.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from spanproof_evaluators.errors import JudgeSourcesError
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Written


class JudgeSource(Written):
    """Task text and source of one task, or of one trial."""

    task_id: str | None = None
    trial_id: str | None = None
    task: str | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.task_id is None) == (self.trial_id is None):
            raise ValueError("give task_id or trial_id, one of the two")
        return self


class JudgeSources(Written):
    """Several of them. What names a trial outranks what names its task."""

    sources: tuple[JudgeSource, ...] = Field(strict=False)

    def of(self, trial_id: str, task_id: str | None) -> tuple[str | None, str | None]:
        """Return task text and source of a trial, ``None`` for what is not written here."""
        named = [one for one in self.sources if one.trial_id == trial_id]
        named += [one for one in self.sources if task_id is not None and one.task_id == task_id]
        task = next((one.task for one in named if one.task is not None), None)
        source = next((one.source for one in named if one.source is not None), None)
        return task, source


def read_judge_sources(path: Path) -> JudgeSources:
    """Return what a YAML or JSON file holds.

    Raises:
        JudgeSourcesError: the file cannot be read, or a key is unknown, missing or wrong.
    """
    return read_document(JudgeSources, path, JudgeSourcesError)
