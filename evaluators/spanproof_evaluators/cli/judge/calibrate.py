"""spanproof judge calibrate: how often a judge errs, in which direction, and whether anything may rest on it."""

import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spanproof_evaluators.cli.judge.run import INCONCLUSIVE, JOURNAL
from spanproof_evaluators.cli.options import json_option, open_existing, store_option
from spanproof_evaluators.cli.output import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanproof_evaluators.judges.asking import Work
    from spanproof_evaluators.judges.journal import Key
    from spanproof_evaluators.model.calibrations import Calibration
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.model.judgements import Judge, Judgement
    from spanproof_evaluators.model.labels import Labels

FOLDER: Final = Path(".spanproof-judge/calibrations")
STORE: Final = "store"


@click.command("calibrate", short_help="Measure a judge against labels; write a record that gates can rest on.")
@click.argument("labels_file", metavar="LABELS", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--judgements",
    default=JOURNAL,
    show_default=True,
    envvar="SPANPROOF_JUDGE_JOURNAL",
    metavar="FILE|store",
    help="Where the verdicts are: a journal, a cassette, or the store.",
)
@store_option
@click.option("--model", "names", multiple=True, metavar="PROVIDER:MODEL", help="These judges only; all without it.")
@click.option("--days", type=click.IntRange(min=1), default=90, show_default=True, help="For how long it holds.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    show_default=True,
    help="Where records go.",
)
@click.option("--bias", is_flag=True, help="Ask the judge again: blank, nonsense, injected, reversed and repeated.")
@click.option(
    "--bias-size", type=click.IntRange(min=1), default=10, show_default=True, help="Items a test is tried on."
)
@click.option(
    "--bias-journal",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(".spanproof-judge/bias.jsonl"),
    show_default=True,
    help="Where the verdicts of these tests are kept.",
)
@click.option(
    "--bias-cassette", type=click.Path(dir_okay=False, path_type=Path), help="Replay these tests; send nothing."
)
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible (or the provider's own kind of) server.")
@click.option(
    "--budget-usd",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="Stop before the tests cost more.",
)
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop before the tests take more.")
@click.option(
    "--per-minute", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Requests a minute at most."
)
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, help="Requests at a time.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=120.0, show_default=True)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of a record, and nothing else.")
@json_option
def command(
    labels_file: Path | None,
    judgements: str,
    address: str,
    names: tuple[str, ...],
    days: int,
    out: Path,
    bias: bool,
    bias_size: int,
    bias_journal: Path,
    bias_cassette: Path | None,
    base_url: str | None,
    budget_usd: float | None,
    budget_tokens: int | None,
    per_minute: float | None,
    jobs: int,
    timeout: float,
    as_schema: bool,
    as_json: bool,
) -> int:
    """Compare a judge's verdicts with the labels in LABELS, and write one record a judge.

    A record says how often the judge passes what fails and fails what passes, with intervals, whether it is valid, and
    if not, why. 'spanproof report' corrects pass rates by it; gates on a judge are inconclusive without a valid one.

    Tests of bias ask the judge again (--bias), through a journal of their own: what is in it is not paid again.

    Exit codes: 0 every record is valid, 2 could not run, 3 a record is not valid, or the budget ended.
    """
    from spanproof_evaluators.errors import FilterError
    from spanproof_evaluators.model.calibrations import schema
    from spanproof_evaluators.model.canonical import Layout, plain, written
    from spanproof_evaluators.model.labels import read_labels
    from spanproof_evaluators.reports.calibrated import calibration_lines
    from spanproof_evaluators.runner.calibrating import calibrate, judges_together, truth_by, truths
    from spanproof_evaluators.runner.judge_asking import Asking
    from spanproof_evaluators.runner.judge_bias import bias_tests, without_asking

    if as_schema:
        click.echo(written(plain(schema()), Layout()))
        return 0
    if labels_file is None:
        raise FilterError("name the file of labels that 'spanproof judge label' wrote")
    labels = read_labels(labels_file)
    by_judge = _verdicts(labels, judgements, address, names)
    truth, _ = truths(labels, truth_by(labels))
    asking = Asking(
        journal=bias_journal,
        base_urls={"": base_url} if base_url else {},
        budget_usd=None if budget_usd is None else Decimal(str(budget_usd)),
        budget_tokens=budget_tokens,
        per_minute=per_minute,
        jobs=jobs,
        seconds=timeout,
    )
    records: list[Calibration] = []
    for judge, verdicts in by_judge:
        if bias or bias_cassette is not None:
            asker = _Asker(judge=judge, asking=asking, cassette=bias_cassette)
            tests = bias_tests(labels, judge, verdicts, truth, asker, size=bias_size)
            if asker.left:
                click.echo(f"{asker.why}. {asker.left} verdicts left: run it again to go on", err=True)
                return INCONCLUSIVE
        else:
            tests = without_asking(labels, judge, verdicts, truth)
        records.append(calibrate(labels, judge, verdicts, at=time.time_ns(), days=days, bias=tests))
    paths = [_write(out, one) for one in records]
    if as_json:
        told: dict[str, Plain] = {
            "records": [
                {"file": str(path), "hash": one.hash, **one.model_dump(mode="json")}
                for path, one in zip(paths, records, strict=True)
            ],
            "judges_together": plain(
                judges_together(labels, [verdicts for _, verdicts in by_judge]).model_dump(mode="json")
            ),
        }
        click.echo(written(told, Layout()))
    else:
        for path, one in zip(paths, records, strict=True):
            for line in (*calibration_lines(one), f"  written to {path}"):
                click.echo(line)
    return 0 if all(one.valid for one in records) else INCONCLUSIVE


class _Asker:
    """Asks a judge, or a cassette, for the verdicts of tests of bias."""

    def __init__(self, *, judge: "Judge", asking: "object", cassette: Path | None) -> None:
        self._judge, self._asking, self._cassette = judge, asking, cassette
        self.left = 0
        self.why = ""

    def __call__(self, works: "Sequence[Work]") -> "Mapping[Key, Judgement]":
        """Return the verdicts."""
        from spanproof_evaluators.runner.judge_asking import Asking, ask_judges, replay_judges

        if self._cassette is not None:
            return replay_judges(works, self._cassette).judged.verdicts
        if not isinstance(self._asking, Asking):
            raise TypeError("asking is how judges are asked")
        judges = list({one.judge.hash: one.judge for one in works}.values())
        with progress_bar("tests of bias") as progress:
            done = ask_judges(works, judges, self._asking, progress)
        self.left, self.why = done.judged.left, done.judged.stopped or "the budget ended"
        return done.judged.verdicts


def _verdicts(
    labels: "Labels", judgements: str, address: str, names: tuple[str, ...]
) -> "list[tuple[Judge, dict[str, Judgement]]]":
    """Return what each judge says of the items, by hash of the input.

    Raises:
        JudgeSetupError: no judge said anything of any item, or a verdict is not what its answers come to.
    """
    from spanproof_evaluators.errors import JudgeSetupError
    from spanproof_evaluators.judges.cassettes import read_cassette

    if judgements == STORE:
        from spanproof_evaluators.runner.judged_rates import stored_judgements

        with open_existing(address) as store:
            every = list(stored_judgements(store))
    else:
        every = list(read_cassette(Path(judgements)).verdicts())
    found: dict[str, tuple[Judge, dict[str, Judgement]]] = {}
    for one in every:
        if one.judge.rubric_hash != labels.sheet.rubric_hash or (names and one.judge.name not in names):
            continue
        if one.input_hash in labels.items:
            _sound(one, labels, judgements)
            found.setdefault(one.judge.hash, (one.judge, {}))[1][one.input_hash] = one
    if not found:
        raise JudgeSetupError(
            f"{judgements} has no verdict on any of the {len(labels.items)} items by this version of rubric "
            f"{labels.sheet.rubric.id!r}. Ask with 'spanproof judge run', or name the journal with --judgements"
        )
    return list(found.values())


def _sound(verdict: "Judgement", labels: "Labels", where: str) -> None:
    """Check that a verdict is the one that its answers give.

    Raises:
        JudgeSetupError: it is another.
    """
    from spanproof_evaluators.errors import JudgeSetupError
    from spanproof_evaluators.model.judgements import decided

    if verdict.state == "unavailable":
        return
    answers = {one.criterion: (one.answer, one.rationale) for one in verdict.criteria}
    if (verdict.state, verdict.reason, verdict.criteria) != decided(labels.sheet.rubric, answers):
        raise JudgeSetupError(
            f"{where}: the verdict on input {verdict.input_hash[:12]} is not what its answers come to"
        )


def _write(folder: Path, record: "Calibration") -> Path:
    """Write a record, whole or not at all; return where it is.

    Raises:
        CalibrationError: it cannot be written.
    """
    from spanproof_evaluators.errors import CalibrationError
    from spanproof_evaluators.runner.calibrating import file_name

    path = folder / file_name(record)
    beside = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside.write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CalibrationError(str(path), "", f"cannot be written: {error.strerror}") from error
    return path
