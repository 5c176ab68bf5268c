"""Judges, inputs and what asking takes, for tests that need no store."""

import os
from decimal import Decimal
from pathlib import Path

from spanproof_evaluators.judges import prompt
from spanproof_evaluators.judges.asking import Desk, Pace, Patience, Work
from spanproof_evaluators.judges.budget import Budget
from spanproof_evaluators.judges.journal import Journal
from spanproof_evaluators.judges.pool import Judged, judge_all
from spanproof_evaluators.judges.providers import provider
from spanproof_evaluators.judges.rubrics import shipped
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.judgements import Judge, JudgeUsage

GROUNDED = shipped()["grounded"]
HURRIED = Patience(first=0.001)


def judge(model: str = "qwen-judge", **settings: int) -> Judge:
    """Return a judge behind an OpenAI-shaped server."""
    return Judge(
        provider="openai",
        model=model,
        family="qwen",
        prompt_hash=prompt.HASH,
        rubric=GROUNDED.id,
        rubric_hash=GROUNDED.hash,
        settings={"temperature": 0.0, "max_tokens": 64, **settings},
    )


def work(answer: str, by: Judge | None = None) -> Work:
    """Return a verdict that is wanted on an answer."""
    given = JudgeInput(task="What became of ORD-1?", criteria=asked(GROUNDED), source="It was refunded.", answer=answer)
    return Work(judge=by or judge(), rubric=GROUNDED, given=given)


def price(by: Judge, usage: JudgeUsage, served: str | None) -> tuple[Decimal | None, str | None]:
    """Return a price of one dollar for 1,000 tokens."""
    return (None, "tokens not counted") if usage.total is None else (Decimal(usage.total) / 1000, None)


def run(
    works: list[Work],
    journal: Path,
    url: str,
    *,
    jobs: int = 1,
    seconds: float = 10,
    budget: Budget | None = None,
    pace: Pace | None = None,
    patience: Patience = HURRIED,
    again: bool = False,
) -> Judged:
    """Ask for verdicts at a server."""
    with Journal(journal) as kept:
        judges = {one.judge.hash: one.judge for one in works}
        desks = {
            judge_hash: Desk(
                provider=provider("openai", one.model, base_url=f"{url}/v1", seconds=seconds),
                journal=kept,
                budget=budget or Budget(),
                pace=pace or Pace(),
                price=price,
                patience=patience,
            )
            for judge_hash, one in judges.items()
        }
        return judge_all(works, desks, jobs=jobs, again=again)


KILLED_AT = ("before", "torn", "after")


def kill_at(number: int, how: str) -> None:
    """Let this process be killed at its so-manieth write of a journal: before it, in the middle of it, or after it."""
    write, count = os.write, 0

    def writing(descriptor: int, data: bytes) -> int:
        nonlocal count
        if b'"judge_hash"' not in data:
            return write(descriptor, data)
        count += 1
        if count == number and how == "torn":
            write(descriptor, data[: len(data) // 2])
        if count == number and how == "after":
            write(descriptor, data)
            os.fsync(descriptor)
        if count == number:
            os.kill(os.getpid(), 9)
        return write(descriptor, data)

    os.write = writing  # type: ignore[assignment]  # the same but for the kill
