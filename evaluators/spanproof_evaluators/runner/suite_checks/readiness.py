"""What a set can show, and what it is held against: power, a saved baseline, calibrated judges."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import BaselineError, CalibrationError
from spanproof_evaluators.model.baselines import names, read_baseline
from spanproof_evaluators.model.calibrations import read_calibrations
from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.stats.power import minimum_detectable_drop, paired_power, paired_tasks

DROP: Final = 0.05
DISCORDANCE: Final = (0.1, 0.2, 0.3)
"""Shares of tasks that end differently under two variants; the first is what the power is told for."""

POWER: Final = 0.8


def power(suite: Suite) -> SuiteFinding:
    """Return what drop the set finds, by the exact one-sided McNemar test with one result a task."""
    tasks = len(suite.tasks)
    chance, least = _shows(tasks)
    facts = {
        "tasks": tasks,
        "drop": DROP,
        "discordance": DISCORDANCE[0],
        "power": chance,
        "minimum_detectable_drop": {**least},
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


@cache
def _shows(tasks: int) -> tuple[float, Mapping[str, float | None]]:
    """Return the power for the drop, and by share of tasks that end differently the least drop that is found."""
    if not tasks:
        return 0.0, {f"{share:g}": None for share in DISCORDANCE}
    chance = paired_power(tasks, DROP, DISCORDANCE[0])
    return chance, {f"{share:g}": minimum_detectable_drop(tasks, share) for share in DISCORDANCE}


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


def calibration(place: Path) -> SuiteFinding:
    """Return whether judges were held against people, by the records of ``spanproof judge calibrate``."""
    try:
        found = read_calibrations(place)
    except CalibrationError as error:
        return _foreign(place, error)
    if not found:
        return SuiteFinding(
            id="judge_calibration",
            level="warning",
            says=f"no calibration of a judge in {place}, so nobody knows how judges err: 'spanproof judge calibrate'",
        )
    valid = [one for one in found if one.valid]
    facts = {"judges": len({one.judge_hash for one in found}), "valid": len(valid)}
    if valid:
        told = "; ".join(f"{one.evaluator} errs to the {one.direction.shown} side" for one in valid)
        return SuiteFinding(
            id="judge_calibration",
            level="ok",
            says=f"{len(valid)} of {len(found)} calibrations hold: {told}",
            facts=facts,
        )
    reasons = sorted({reason for one in found for reason in one.reasons})
    return SuiteFinding(
        id="judge_calibration",
        level="warning",
        says=f"none of {len(found)} calibrations is valid: {', '.join(reasons)}",
        facts=facts,
    )


def _foreign(place: Path, error: CalibrationError) -> SuiteFinding:
    """Return what is to be said of a file that is no record of a calibration: that it is there, or that it is not."""
    try:
        empty = place.is_file() and not place.read_text(encoding="utf-8").strip("[]{} \r\n\t")
    except (OSError, UnicodeDecodeError):
        empty = False
    if empty:
        return SuiteFinding(id="judge_calibration", level="failure", says=f"{place} holds nothing")
    return SuiteFinding(
        id="judge_calibration",
        level="warning",
        says=f"what is there is no record that can be recounted: {error}",
    )
