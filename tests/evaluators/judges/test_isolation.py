"""Nothing of a trajectory reaches a judge: by type, by import, and by what the one place that reads trials takes."""

import ast
import dataclasses
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanproof_collector.model.trials import EndState, Spoken, Step, Trial
from spanproof_evaluators.errors import JudgeInputError
from spanproof_evaluators.judges.prompt import request
from spanproof_evaluators.judges.rubrics import shipped
from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.judge_sources import JudgeSources
from spanproof_evaluators.model.suites import Suite, parse_suite
from spanproof_evaluators.runner.judge_inputs import NotJudged, judge_input
from tests.evaluators.factories import START, call, trial

ROOT = Path(__file__).parents[3]
EVALUATORS = ROOT / "evaluators/spanproof_evaluators"
RUBRICS = shipped()
ALLOWED = {
    "spanproof_evaluators.errors",
    "spanproof_evaluators.judges",
    "spanproof_evaluators.model.canonical",
    "spanproof_evaluators.model.documents",
    "spanproof_evaluators.model.judge_inputs",
    "spanproof_evaluators.model.judgements",
    "spanproof_evaluators.model.rubrics",
    "spanproof_evaluators.model.written",
    "spanproof_instrumentation.semconv",
}
"""All that a judge may know of the house."""

SUITE = parse_suite(
    json.dumps(
        {
            "id": "s",
            "tasks": [
                {"id": "told", "prompt": "Say what became of ORD-1.", "source": "ORD-1 was refunded."},
                {"id": "bare", "prompt": "Say what became of ORD-1."},
                {"id": "empty"},
            ],
        }
    ),
    name="s",
)


def imported(text: str) -> Iterator[str]:
    """Yield every module of the house that a source text imports."""
    for node in ast.walk(ast.parse(text)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom) and node.module in (
            "spanproof_instrumentation",
            "spanproof_evaluators.model",
        ):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name for name in names if name.startswith("spanproof"))


def forbidden(text: str) -> set[str]:
    """Return the imports of a source text that no judge may have."""
    return {
        name for name in imported(text) if name not in ALLOWED and not name.startswith("spanproof_evaluators.judges.")
    }


def test_judges_import_only_what_has_no_trajectory() -> None:
    files = [*(EVALUATORS / "judges").rglob("*.py")]
    files += [EVALUATORS / "model" / f"{name}.py" for name in ("judge_inputs", "judgements", "rubrics")]
    assert len(files) > 15
    assert {str(file): found for file in files if (found := forbidden(file.read_text()))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from spanproof_collector.model.trials import Trial",
        "import spanproof_collector.trials",
        "from spanproof_evaluators.model import assessments",
        "from spanproof_evaluators.model.results import Result",
        "from spanproof_evaluators.runner.judge_inputs import judge_input",
        "def f():\n    from spanproof_evaluators.rules import RULES",
    ],
)
def test_an_import_that_brings_one_would_be_found(line: str) -> None:
    assert forbidden(line)


def test_the_import_contract_says_so_too() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (one,) = [contract for contract in contracts if "spanproof_evaluators.judges" in contract.get("source_modules", [])]
    assert one["type"] == "forbidden"
    assert {"spanproof_collector", "spanproof_evaluators.rules", "spanproof_evaluators.runner"} <= set(
        one["forbidden_modules"]
    )
    assert {"spanproof_evaluators.model.assessments", "spanproof_evaluators.model.results"} <= set(
        one["forbidden_modules"]
    )


def test_a_trial_does_not_fit_into_what_a_judge_sees() -> None:
    # each "type: ignore" is a claim too: the type checker says so where one is not needed
    one = trial()
    wrong: list[Callable[[], JudgeInput]] = [
        lambda: JudgeInput(task="t", criteria=asked(RUBRICS["tone"]), answer=one),  # type: ignore[arg-type]
        lambda: JudgeInput(task=one, criteria=asked(RUBRICS["tone"]), answer="a"),  # type: ignore[arg-type]
        lambda: JudgeInput(task="t", criteria=asked(RUBRICS["tone"]), source=one.steps, answer="a"),  # type: ignore[arg-type]
    ]
    for make in wrong:
        with pytest.raises(JudgeInputError):
            make()
    with pytest.raises(TypeError):
        JudgeInput(task="t", criteria=asked(RUBRICS["tone"]), answer="a", trial=one)  # type: ignore[call-arg]


def test_only_one_module_makes_inputs_out_of_trials() -> None:
    makers = {
        file.relative_to(EVALUATORS).as_posix()
        for file in EVALUATORS.rglob("*.py")
        if "JudgeInput(" in file.read_text()
        and {"spanproof_collector.model.trials"} & set(imported(file.read_text()))
        and any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "JudgeInput"
            for node in ast.walk(ast.parse(file.read_text()))
        )
    }
    assert makers == {"runner/judge_inputs.py"}


class _Marker:
    """Gives every text of a record a mark of its own."""

    def __init__(self) -> None:
        self.count = 0

    def marked(self, value: object) -> object:
        """Return the value, each text in it replaced."""
        if isinstance(value, str):
            self.count += 1
            return f"mark{self.count:04}x"
        if isinstance(value, tuple):
            return tuple(self.marked(one) for one in value)
        if isinstance(value, dict):
            return {self.marked(key): self.marked(one) for key, one in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.replace(
                value, **{field.name: self.marked(getattr(value, field.name)) for field in dataclasses.fields(value)}
            )
        return value


def _everything() -> Trial:
    """Return a trial with a text of its own in every place that can hold one."""
    spoken = (Spoken(text="thinking aloud", span_id="a", with_calls=True),)
    steps = (Step(kind="tool_call", trace_id="t", span_id="s", name="n", started_at=START, ended_at=START),)
    whole = dataclasses.replace(
        trial(), spoken=spoken, steps=steps, tool_calls=(call(arguments={"a": "b"}),), labels={"k": "v"}
    )
    marked = _Marker().marked(whole)
    assert isinstance(marked, Trial)
    # what decides whether it is judged at all is as it was
    return dataclasses.replace(
        marked,
        status=whole.status,
        status_reason=whole.status_reason,
        completeness=whole.completeness,
        task_id="told",
        final_answer="It was refunded.",
    )


def test_of_a_whole_trial_only_the_answer_reaches_a_judge() -> None:
    one = _everything()
    assert canonical(one).count("mark0") > 20
    given = judge_input(one, RUBRICS["grounded"], SUITE)
    assert isinstance(given, JudgeInput)
    assert "mark0" not in canonical(given)
    assert "mark0" not in request(given).system + request(given).user
    assert (given.task, given.source, given.answer) == (
        "Say what became of ORD-1.",
        "ORD-1 was refunded.",
        "It was refunded.",
    )


DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"


def state(tables: object, *, time: int = 2, phase: str = "after", matches: bool | None = True) -> EndState:
    return EndState(
        phase="after" if phase == "after" else "before",
        state=json.dumps({"tables": tables}),
        digest=None,
        digest_matches=matches,
        span_id="s",
        time=time,
    )


def of(task_id: str | None = "told", answer: str | None = "a", *states: EndState) -> Trial:
    return dataclasses.replace(trial(), task_id=task_id, final_answer=answer, end_states=states)


@pytest.mark.parametrize(
    ("one", "rubric", "suite", "reason"),
    [
        (of(None), "grounded", SUITE, "no_task_text"),
        (of("told"), "grounded", None, "no_task_text"),
        (of("empty"), "grounded", SUITE, "no_task_text"),
        (of("bare"), "grounded", SUITE, "no_source"),
        (of("told", None), "grounded", SUITE, "no_answer_submitted"),
        (of("told"), "diff", SUITE, "no_end_state"),
        (of("told", "a", state({})), "diff", SUITE, "no_diff"),
        (of("told", "a", state({"git.diff": [{"patch": "sha256:00 (9 characters)"}]})), "diff", SUITE, "no_diff"),
        (of("told", "a", state({"git.diff": [{"patch": DIFF}]}, phase="before")), "diff", SUITE, "no_end_state"),
        (
            of("told", "a", state({"git.diff": [{"patch": DIFF}]}, matches=False)),
            "diff",
            SUITE,
            "end_state_damaged",
        ),
    ],
)
def test_what_is_missing_is_no_input_and_says_why(one: Trial, rubric: str, suite: Suite | None, reason: str) -> None:
    found = judge_input(one, RUBRICS[rubric], suite)
    assert isinstance(found, NotJudged)
    assert found.reason == reason


def test_a_diff_is_the_last_recorded_one_and_goes_without_the_answer() -> None:
    older = state({"git.diff": [{"patch": "older"}]}, time=1)
    found = judge_input(of("told", "I did it", state({"git.diff": [{"patch": DIFF}]}), older), RUBRICS["diff"], SUITE)
    assert isinstance(found, JudgeInput)
    assert (found.answer, found.looks_at, found.source) == (DIFF, "diff", None)


def test_a_rubric_that_needs_no_source_is_given_none() -> None:
    found = judge_input(of("told"), RUBRICS["tone"], SUITE)
    assert isinstance(found, JudgeInput)
    assert found.source is None


def test_a_sources_file_outranks_the_suite_and_a_trial_its_task() -> None:
    declared = JudgeSources.model_validate_json(
        '{"sources": [{"task_id": "told", "source": "by task"}, {"trial_id": "t", "source": "by trial"}]}'
    )
    for trial_id, source in (("t", "by trial"), ("u", "by task")):
        one = dataclasses.replace(of("told"), trial_id=trial_id)
        found = judge_input(one, RUBRICS["grounded"], SUITE, declared)
        assert isinstance(found, JudgeInput)
        assert (found.task, found.source) == ("Say what became of ORD-1.", source)
