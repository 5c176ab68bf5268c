"""Sheets of labels and verdicts with known counts, for tests that need no store."""

from collections.abc import Sequence

from spanproof_evaluators.judges import prompt
from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.judge_inputs import JudgeInput, asked
from spanproof_evaluators.model.judgements import Judge, Judgement, decided
from spanproof_evaluators.model.labels import Item, Label, Labels, LabelState, Population, Rater, Sampling, Sheet
from spanproof_evaluators.model.rubrics import Answer
from spanproof_evaluators.runner.calibrating import calibrate
from tests.evaluators.calibration.known_items import RUBRIC

ADA = Rater(kind="human", name="ada")
NOW = 1_800_000_000_000_000_000


def judge(model: str = "gauge-1") -> Judge:
    """Return a judge of the rubric of the known items."""
    return Judge(
        provider="openai",
        model=model,
        family=None,
        prompt_hash=prompt.HASH,
        rubric=RUBRIC.id,
        rubric_hash=RUBRIC.hash,
        settings={"temperature": 0.0},
    )


def given(number: int) -> JudgeInput:
    """Return one input of many."""
    return JudgeInput(task="What is it?", criteria=asked(RUBRIC), source="It is so.", answer=f"It is {number}.")


def sheet(count: int, method: str = "random", drawn: int | None = None) -> Labels:
    """Return a sheet of so many items without a label; ``drawn`` says how many of them were drawn."""
    inputs = [given(number) for number in range(count)]
    size = count if drawn is None else drawn
    sampling = Sampling.model_validate({"method": method, "seed": 1, "size": size})
    labels = Labels(
        sheet=Sheet(
            rubric=RUBRIC,
            rubric_hash=RUBRIC.hash,
            population=Population.of([one.hash for one in inputs], described=""),
            sampling=sampling,
            at=str(NOW),
        )
    )
    for one in inputs[:size]:
        labels.take(
            Item(input_hash=one.hash, task=one.task, source=one.source, answer=one.answer, probability=size / count)
        )
    return labels


def say(labels: Labels, states: Sequence[LabelState | None], rater: Rater = ADA) -> None:
    """Let a rater label the items in their order; ``None`` says nothing of one."""
    for item, state in zip(labels.items, states, strict=False):
        if state is not None:
            labels.take(Label(input_hash=item, rubric_hash=RUBRIC.hash, rater=rater, state=state, at=str(NOW)))


def verdict(input_hash: str, passed: bool | None, by: Judge | None = None, at: int = NOW) -> Judgement:
    """Return what a judge says of an input; ``None``: nothing."""
    who = by or judge()
    if passed is None:
        return Judgement(
            judge=who, input_hash=input_hash, state="unavailable", reason="malformed", cost_reason="none", created_at=at
        )
    answer: Answer = "yes" if passed else "no"
    state, reason, criteria = decided(RUBRIC, {"supported": (answer, "")})
    return Judgement(
        judge=who,
        input_hash=input_hash,
        state=state,
        reason=reason,
        criteria=criteria,
        cost_reason="none",
        served_model="gauge-1-0501",
        created_at=at,
    )


def table(right: int, wrong: int, caught: int, strict: int) -> tuple[Labels, dict[str, Judgement]]:
    """Return labels by a person and verdicts: so many rightly and wrongly passed, rightly and wrongly failed."""
    count = right + wrong + caught + strict
    labels = sheet(count)
    pairs = [(True, True)] * right + [(False, True)] * wrong + [(False, False)] * caught + [(True, False)] * strict
    say(labels, ["pass" if truth else "fail" for truth, _ in pairs])
    return labels, {item: verdict(item, said) for item, (_, said) in zip(labels.items, pairs, strict=True)}


def record(right: int, wrong: int, caught: int, strict: int) -> Calibration:
    """Return the calibration of these counts."""
    labels, verdicts = table(right, wrong, caught, strict)
    return calibrate(labels, judge(), verdicts, at=NOW)
