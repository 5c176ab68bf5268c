"""A variant against itself: how often it is taken for worse, over resamples of recorded outcomes."""

import random

from spanproof_evaluators.model.comparisons import Observation
from spanproof_evaluators.runner import compare
from tests.evaluators.stats.golden import golden
from tests.shared import needs_golden

RESAMPLES = 1000


@needs_golden
def test_a_variant_against_itself_is_taken_for_worse_no_more_often_than_printed() -> None:
    """Four trials of each of 50 tasks of tau-bench (golden case G04), two of them taken for a and two for b.

    The printed rate of a regression is 5 %, the one-sided level of its bound. What is seen over 1,000 resamples stays
    within two standard errors of it.
    """
    rewards = golden("G04")["inputs"]["rewards_by_task"]
    draws = random.Random(20_240_601)
    alarms = 0
    for _ in range(RESAMPLES):
        sides: tuple[list[Observation], list[Observation]] = ([], [])
        for task, told in rewards.items():
            mixed = draws.sample(told, len(told))
            for side, some in zip(sides, (mixed[:2], mixed[2:]), strict=True):
                side += [
                    Observation(trial_id=f"{task}.{at}", task_id=task, solved=bool(reward))
                    for at, reward in enumerate(some)
                ]
        alarms += compare(*sides, names=("a", "b")).verdict == "regressed"
    assert alarms / RESAMPLES <= 0.05 + 2 * (0.05 * 0.95 / RESAMPLES) ** 0.5
