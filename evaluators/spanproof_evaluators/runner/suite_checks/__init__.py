"""The set's own checks, without running anything: is it a set whose numbers mean something?"""

from pathlib import Path
from typing import Final

from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.runner.python_suites import OpenSuite
from spanproof_evaluators.runner.suite_checks.composition import categories, duplicates, refusals, runs, size
from spanproof_evaluators.runner.suite_checks.origins import origins, survivorship, unchecked
from spanproof_evaluators.runner.suite_checks.readiness import baseline, calibration, power
from spanproof_evaluators.runner.suite_checks.verifying import changing_worlds, deciding, seen_tests, starts, verifiers

SIMILAR: Final = 0.8
"""Two prompts are near duplicates from this Jaccard similarity of their three-word shingles on."""


def check_suite(
    opened: OpenSuite, *, baselines: Path, calibrations: Path, similar: float = SIMILAR
) -> list[SuiteFinding]:
    """Return what is to be said of a suite.

    Args:
        opened: the suite, and its functions.
        baselines: the folder of saved baselines.
        calibrations: the folder of calibrations of judges, or one of them.
        similar: from which similarity on two prompts are near duplicates.
    """
    suite = opened.suite
    return [
        size(suite),
        power(suite),
        refusals(suite),
        *categories(suite),
        runs(suite),
        *duplicates(suite, similar),
        *verifiers(opened),
        *deciding(suite),
        *seen_tests(suite),
        *starts(opened),
        changing_worlds(suite),
        origins(suite),
        *unchecked(suite),
        survivorship(suite),
        baseline(suite, baselines),
        calibration(calibrations),
    ]
