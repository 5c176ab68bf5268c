"""The report of the founding text (R108): by category with the baseline in brackets, and how it was gone about."""

import io
from dataclasses import replace

from rich.console import Console

from spanproof_collector.model.readings import Usage
from spanproof_evaluators.gates import find_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.reports.files import report_markdown
from spanproof_evaluators.reports.terminal import print_report
from spanproof_evaluators.runner import gate, observed, report
from tests.evaluators.factories import call
from tests.evaluators.test_policies import BASE, NEW, SIZES, set_of

KEPT = 31
"""Questions of which all three runs are solved; of the baseline 24."""


def three_runs(solved: dict[str, int], sure: int, calls: int, tokens: int) -> list[Assessment]:
    """Return three runs a question: in the first so many of each category solved, in all three ``sure`` of them."""
    first = set_of(solved)
    good = [one.trial.task_id for one in first if one.solved]
    found = []
    for at, one in enumerate(first):
        spent = 210 // 50 + (at < 210 % 50) if calls == 42 else 340 // 50 + (at < 340 % 50)
        results = (
            Result(evaluator="repeats", state="fail" if at < 7 else "pass", explanation=""),
            Result(evaluator="budgets", state="fail" if 7 <= at < 12 else "pass", explanation=""),
            Result(evaluator="forbidden_tools", state="pass", explanation=""),
        )
        usage = Usage(input_tokens=tokens - 180, output_tokens=180)
        one = replace(
            one,
            results=results,
            trial=replace(one.trial, tool_calls=tuple(call() for _ in range(spent)), usage=usage),
        )
        found.append(one)
    always = set(good[:sure])
    failing = next(one for one in first if not one.solved)
    passing = next(one for one in first if one.solved)
    for run in (1, 2):
        for one in first:
            like = passing if one.trial.task_id in always else failing
            found.append(
                replace(
                    like,
                    task=one.task,
                    trial=replace(one.trial, trial_id=f"{one.trial.task_id}-run{run}", labels={"run": str(run)}),
                )
            )
    return found


def shown(made: Report) -> list[str]:
    console = Console(file=io.StringIO(), width=160, color_system=None, markup=False, highlight=False)
    print_report(console, made)
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def first_runs(trials: list[Assessment]) -> list[Assessment]:
    return [one for one in trials if "run" not in one.trial.labels]


def test_the_founding_report_with_its_counts() -> None:
    new, old = three_runs(NEW, KEPT, 42, 3180), three_runs(BASE, 24, 68, 4000)
    made = report(
        first_runs(new), None, described="", baseline=("last week", [observed(one) for one in first_runs(old)])
    )
    lines = shown(made)
    # Golden case G20: solved of n, its share, and the baseline's.
    for category, solved in NEW.items():
        n, before = SIZES[category], BASE[category]
        (line,) = [line for line in lines if line.startswith(f"{category} ")]
        # a category has fewer than thirty questions, so counts come first
        assert line.startswith(f"{category} {solved}/{n} ({solved / n:.3f})"), line
        assert f"[last week: {before}/{n} ({before / n:.3f})]" in line
    (overall,) = [line for line in lines if line.startswith("Overall")]
    assert overall.startswith("Overall 0.840 (42/50)")
    assert overall.endswith("[last week: 0.780 (39/50)]")
    (steps,) = [line for line in lines if line.startswith("Tool calls ")]
    assert steps.startswith("Tool calls 4.20 (210 / 50 trials)")
    assert "[last week: 6.80 (340 / 50 trials)]" in steps
    assert any(line.startswith("Tokens, in and out 3,180 (159,000 / 50 trials)") for line in lines)
    assert any(line.startswith("Clean trajectories 0.760 (38/50)") for line in lines)
    assert any(line.startswith("With repeats 0.140 (7/50)") for line in lines)
    assert any(line.startswith("With forbidden 0.000 (0/50)") for line in lines)
    decision, _ = gate(
        first_runs(new),
        find_policy("founding"),
        name="new",
        baseline=[observed(one) for one in first_runs(old)],
    )
    assert decision.decision == "pass"


def test_pass_hat_three_counts_questions_and_has_its_baseline() -> None:
    new, old = three_runs(NEW, KEPT, 42, 3180), three_runs(BASE, 24, 68, 4000)
    made = report(new, None, described="", baseline=("last week", [observed(one) for one in old]))
    (line,) = [line for line in shown(made) if line.startswith("pass^3, all of 3")]
    assert line.startswith("pass^3, all of 3 0.620 (31/50 tasks)")
    assert "[last week: 0.480 (24/50 tasks)]" in line
    assert "0.620 (31/50 tasks) [last week: 0.480 (24/50 tasks)]" in report_markdown(made).replace("\\", "")


def test_under_thirty_tasks_the_counts_lead() -> None:
    few = {"lookup": 3, "refusal": 2}
    made = report(set_of({"lookup": 2, "refusal": 2}, few), None, described="")
    lines = shown(made)
    assert any(line.startswith("lookup 2/3 (0.667)") for line in lines)
    assert any(line.startswith("Overall 4/5 (0.800)") for line in lines)


def test_a_category_that_one_variant_has_no_trial_of_is_unavailable_there() -> None:
    trials = set_of({"lookup": 2, "refusal": 2}, {"lookup": 3, "refusal": 2})
    named = [
        replace(one, trial=replace(one.trial, variant="b" if one.task and one.task.category == "refusal" else "a"))
        for one in trials
    ]
    made = report(named, None, described="")
    assert {one.name: one.categories["refusal"].value for one in made.variants} == {"a": None, "b": 1.0}


def test_tasks_without_a_category_make_no_table() -> None:
    trials = [replace(one, task=None) for one in set_of({"lookup": 2}, {"lookup": 3})]
    assert not any(line.startswith("By category") for line in shown(report(trials, None, described="")))
