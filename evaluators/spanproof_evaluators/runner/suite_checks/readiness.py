"""What a set can show, and what it is held against: power, a saved baseline, calibrated judges."""

import json
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import BaselineError
from spanproof_evaluators.model.baselines import names, read_baseline
from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite

DROP: Final = 0.05
DISCORDANCE: Final = (0.1, 0.2, 0.3)
"""Shares of tasks that end differently under two variants; the first is what the power is told for."""

POWER: Final = 0.8
_HAND_GRADED: Final = 40


def power(suite: Suite) -> SuiteFinding:
    """Return what drop the set finds, by the exact one-sided McNemar test with one result a task."""
    from spanproof_evaluators.stats.power import minimum_detectable_drop, paired_power, paired_tasks

    tasks = len(suite.tasks)
    chance = paired_power(tasks, DROP, DISCORDANCE[0]) if tasks else 0.0
    least = {f"{share:g}": minimum_detectable_drop(tasks, share) if tasks else None for share in DISCORDANCE}
    facts = {
        "tasks": tasks,
        "drop": DROP,
        "discordance": DISCORDANCE[0],
        "power": chance,
        "minimum_detectable_drop": least,
        "tasks_needed": paired_tasks(DROP, DISCORDANCE[0]),
    }
    told = ", ".join(
        f"{'none' if drop is None else f'{100 * drop:.1f} points'} where {float(share):.0%} end differently"
        for share, drop in least.items()
    )
    return SuiteFinding(
        id="power",
        level="ok" if chance >= POWER else "warning",
        says=f"a drop of 5 points is found {chance:.1%} of the time (10% end differently); the least that is found "
        f"{POWER:.0%} of the time: {told}",
        facts=facts,
    )


def baseline(suite: Suite, folder: Path) -> SuiteFinding:
    """Return whether a baseline of this suite is saved."""
    of_suite: list[str] = []
    of_version: list[str] = []
    for name in names(folder):
        try:
            found = read_baseline(folder, name)
        except BaselineError:
            continue
        if found.suite == suite.id:
            of_suite.append(name)
            if found.suite_hash == suite.hash:
                of_version.append(name)
    facts = {"folder": str(folder), "baselines": of_suite}
    if of_version:
        return SuiteFinding(id="baseline", level="ok", says=f"baseline {', '.join(of_version)}", facts=facts)
    if of_suite:
        return SuiteFinding(
            id="baseline",
            level="warning",
            says=f"baseline {', '.join(of_suite)} is of another version of the suite: results cannot be compared",
            facts=facts,
        )
    return SuiteFinding(
        id="baseline",
        level="warning",
        says=f"no baseline of this suite in {folder}: save one with 'spanproof baseline save'",
        facts=facts,
    )


def calibration(file: Path | None) -> SuiteFinding:
    """Return whether judges were held against people."""
    if file is None:
        return SuiteFinding(
            id="judge_calibration",
            level="warning",
            says="no calibration of a judge is named (--judge-calibration): nobody knows how its judges err",
        )
    try:
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines() if file.suffix in (".jsonl", ".ndjson") else [text]
        found = [one for line in lines if line.strip() and (one := json.loads(line))]
    except (OSError, ValueError) as error:
        return SuiteFinding(id="judge_calibration", level="failure", says=f"{file} cannot be read: {error}")
    if not found:
        return SuiteFinding(id="judge_calibration", level="failure", says=f"{file} holds nothing")
    cases = len(found[0]) if len(found) == 1 and isinstance(found[0], list) else len(found)
    if len(found) == 1 and isinstance(found[0], dict):
        return SuiteFinding(id="judge_calibration", level="ok", says=f"judges are calibrated: {file}")
    return SuiteFinding(
        id="judge_calibration",
        level="ok" if cases >= _HAND_GRADED else "warning",
        says=f"{cases} cases graded by hand, of {_HAND_GRADED} that are asked for",
        facts={"cases": cases, "least": _HAND_GRADED},
    )
