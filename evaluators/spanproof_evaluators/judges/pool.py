"""Many verdicts: several requests at a time, each input once, stopped cleanly where the budget ends."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.asking import Desk, Work, ask
from spanproof_evaluators.judges.budget import BudgetSpentError
from spanproof_evaluators.judges.journal import KEPT, Key
from spanproof_evaluators.model.judgements import Judgement

Progress = Callable[[int, int], None]

SILENT: Final = ("rate_limited", "server_error", "timeout", "unreachable", "rejected")
"""Reasons of verdicts for which no answer came."""

IN_A_ROW: Final = 10
"""So many of them one after the other end a run: the provider is away, or turns down every request of this kind."""


@dataclass(slots=True, kw_only=True)
class Judged:
    """What a run came to."""

    verdicts: dict[Key, Judgement] = field(default_factory=dict)
    asked: int = 0
    """Verdicts that requests were made for."""

    kept: int = 0
    """Verdicts that the journal held already."""

    left: int = 0
    """Verdicts that were not asked for, because the run ended early."""

    stopped: str | None = None
    """Why it did, where that was not the budget."""


def judge_all(
    works: Sequence[Work],
    desks: Mapping[str, Desk],
    *,
    jobs: int,
    again: bool = False,
    progress: Progress = lambda done, of: None,
) -> Judged:
    """Return the verdicts that are wanted, those of the journal first.

    Args:
        works: what is wanted; two that are the same are asked for once.
        desks: what asking takes, by hash of the judge.
        jobs: how many requests may be under way.
        again: ask again where the judge answered and there was no verdict in it.
        progress: told of how many verdicts there are, and of how many are wanted.

    Raises:
        JudgeSetupError: a provider turns every request down or cannot be reached, or the journal cannot be written, and
            that before there is any verdict. After one the run ends early.
    """
    wanted = {work.key: work for work in works}
    found = Judged()
    left: list[Work] = []
    for key, work in wanted.items():
        verdict = desks[work.judge.hash].journal.verdict(key)
        if verdict is not None and (verdict.state != "unavailable" or (verdict.reason in KEPT and not again)):
            found.verdicts[key] = verdict
            found.kept += 1
        else:
            left.append(work)
    progress(len(found.verdicts), len(wanted))
    if left:
        asyncio.run(_ask_all(left, desks, jobs, found, lambda: progress(len(found.verdicts), len(wanted))))
    return found


async def _ask_all(
    works: Sequence[Work], desks: Mapping[str, Desk], jobs: int, found: Judged, tell: Callable[[], None]
) -> None:
    """Ask for every verdict.

    Raises:
        JudgeSetupError: of the first request that every other one would fail like.
    """
    rest = iter(works)
    stopped = reached = False
    silent = 0

    async def worker() -> None:
        nonlocal stopped, reached, silent
        for work in rest:
            if stopped:
                found.left += 1
                continue
            try:
                verdict = await ask(work, desks[work.judge.hash])
            except BudgetSpentError:
                stopped = True
                found.left += 1
                continue
            except JudgeSetupError as error:
                if not found.asked:
                    raise  # nothing came of this run
                stopped = True
                found.left += 1
                found.stopped = found.stopped or str(error)
                continue
            found.verdicts[work.key] = verdict
            found.asked += 1
            reached = reached or verdict.reason != "unreachable"
            if not reached:
                raise JudgeSetupError(f"{work.judge.name} cannot be reached: {verdict.explanation}")
            silent = silent + 1 if verdict.reason in SILENT else 0
            if silent == IN_A_ROW:
                stopped = True
                found.stopped = f"{work.judge.name} gave no answer {IN_A_ROW} times in a row: {verdict.explanation}"
            tell()

    try:
        async with AsyncExitStack() as opened, asyncio.TaskGroup() as tasks:
            for desk in desks.values():
                await opened.enter_async_context(desk.provider.opened())
            for _ in range(min(jobs, len(works))):
                tasks.create_task(worker())
    except ExceptionGroup as several:
        raise several.exceptions[0] from None  # the others failed alike, or were called off
