"""spanproof judge run: ask judges about stored trials, and store what they say."""

import functools
import json
import time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spanproof_evaluators.cli.options import (
    Unit,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_filter,
    read_tools,
    settling_options,
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import progress_bar, tell

if TYPE_CHECKING:
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.model.judgements import Judge
    from spanproof_evaluators.model.rubrics import Rubric

INCONCLUSIVE: Final = 3
JOURNAL: Final = ".spanproof-judge/journal.jsonl"


@click.command("run", short_help="Ask one judge or several about stored trials; store the verdicts.")
@store_option
@functools.partial(filter_options, renamed={"model": "agent-model"})
@unit_option
@settling_options
@tools_option
@click.option("--include-unsettled", is_flag=True, help="Judge trials that may still go on, too.")
@click.option("--rubric", "rubric_name", required=True, metavar="NAME|FILE", help="What is asked.")
@click.option(
    "--model",
    "judge_models",
    multiple=True,
    metavar="PROVIDER:MODEL[@REVISION]",
    help="Who is asked: openai, anthropic, google, bedrock. Several are a panel. REVISION tells weights apart.",
)
@click.option(
    "--base-url",
    "base_urls",
    multiple=True,
    metavar="[MODEL=]URL",
    help="A server of the provider's kind, OpenAI-compatible for openai; of all models, or of the one that is named.",
)
@click.option("--sources", "sources_file", type=click.Path(path_type=Path), metavar="FILE", help="Texts and sources.")
@click.option(
    "--cassette", type=click.Path(path_type=Path), metavar="FILE", help="Replay recorded verdicts; nothing is sent."
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    default=JOURNAL,
    show_default=True,
    envvar="SPANPROOF_JUDGE_JOURNAL",
    metavar="FILE",
    help="Where verdicts are kept, so that none is paid twice. Also SPANPROOF_JUDGE_JOURNAL.",
)
@click.option("--budget-usd", metavar="USD", help="Stop before this run costs more.")
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop before this run takes more.")
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, help="Requests at a time.")
@click.option(
    "--per-minute", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Requests a minute at most."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=120.0, show_default=True, metavar="SECONDS"
)
@click.option(
    "--allow-same-family", "allowed", multiple=True, metavar="NAME", help="A family or model that may judge its own."
)
@click.option("--temperature", type=float, default=0.0, show_default=True)
@click.option("--seed", type=int, metavar="N", help="Sent where the provider takes one.")
@click.option("--max-tokens", type=click.IntRange(min=16), default=2048, show_default=True, help="Of an answer.")
@click.option("--extra-body", metavar="JSON", help="""More members of the request, as '{"cache_prompt": false}'.""")
@click.option("--again", is_flag=True, help="Ask again where a judge answered and there was no verdict in it.")
@click.option(
    "--disagreements",
    "disagreements_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what a panel differs on, for people to decide: JSON lines.",
)
@json_option
def command(
    address: str,
    unit: Unit,
    settle_seconds: float,
    idle_seconds: float,
    tools_file: str | None,
    include_unsettled: bool,
    rubric_name: str,
    judge_models: tuple[str, ...],
    base_urls: tuple[str, ...],
    sources_file: Path | None,
    cassette: Path | None,
    journal: Path,
    budget_usd: str | None,
    budget_tokens: int | None,
    jobs: int,
    per_minute: float | None,
    timeout: float,
    allowed: tuple[str, ...],
    temperature: float,
    seed: int | None,
    max_tokens: int,
    extra_body: str | None,
    again: bool,
    disagreements_file: Path | None,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> int:
    """Show task, source and answer of stored trials to judges, and store their answers to a rubric's questions.

    Task text and source come from the suite (--suite FILE: prompt, source) or a file (--sources). A judge sees nothing
    else of a trial. Verdicts stand beside other results: 'spanproof evaluate', 'report' and 'show' tell them.

    A run that was stopped or killed goes on where it was; verdicts in the journal are not asked for again.

    Exit codes: 0 done, 2 could not run, 3 the budget ended, or the provider would not go on, before all was judged.
    """
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import FilterError, NoTrialsError
    from spanproof_evaluators.judges.rubrics import find_rubric
    from spanproof_evaluators.model.canonical import Layout, written
    from spanproof_evaluators.model.judge_sources import read_judge_sources
    from spanproof_evaluators.reports.judged import JudgedTrial, JudgeReport, disagreements, judged_json, summary
    from spanproof_evaluators.runner import judge_runs
    from spanproof_evaluators.runner.judge_asking import Asking, ask_judges, replay_judges
    from spanproof_evaluators.runner.judge_spans import store_spans

    rubric = find_rubric(rubric_name)
    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    if cassette is not None and (base_urls or budget_usd or budget_tokens):
        raise FilterError("--cassette sends nothing: --base-url and budgets have no meaning beside it. Leave them out")
    judges = _judges(judge_models, rubric, _settings(temperature, seed, max_tokens, extra_body), cassette)
    asking = Asking(
        journal=journal,
        base_urls=_base_urls(base_urls, judges),
        budget_usd=_money(budget_usd),
        budget_tokens=budget_tokens,
        jobs=jobs,
        per_minute=per_minute,
        seconds=timeout,
        again=again,
    )
    with open_existing(address) as store:
        planned, left = judge_runs.plan(
            store,
            wanted,
            rubric,
            judges,
            suite=suite,
            declared=read_judge_sources(sources_file) if sources_file else None,
            allowed=frozenset(allowed),
            unit=unit,
            settling=None if include_unsettled else Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds),
            catalogue=read_tools(tools_file),
            now=time.time_ns(),
        )
    if not planned and not left:
        raise NoTrialsError(describe(wanted))
    works = [one.work for one in planned if one.work is not None]
    if cassette is not None:
        done = replay_judges(works, cassette)
    else:
        with progress_bar("verdicts") as progress:
            done = ask_judges(works, judges, asking, progress)
    together = judge_runs.panels(planned, done.judged.verdicts)
    found = judge_runs.words(planned, done.judged.verdicts)
    with open_existing(address) as store:
        judge_runs.store_words(store, found, together, rubric=rubric, suite=suite, at=time.time_ns())
        store_spans(store, done.spans)
    report = JudgeReport(
        rubric=rubric,
        judges=judges,
        asked=done.judged.asked,
        kept=done.judged.kept,
        left=done.judged.left,
        stopped=done.judged.stopped,
        tokens=done.spent.tokens,
        usd=done.spent.usd,
        unanswered=done.unanswered,
        left_for_later=left,
        words=[JudgedTrial(trial_id=one.trial_id, result=result, judgement=said) for one, result, said in found],
        panels=together,
    )
    if disagreements_file is not None:
        lines = [written(one, Layout()) + "\n" for one in disagreements(report)]
        disagreements_file.write_text("".join(lines), encoding="utf-8")
    if as_json:
        click.echo(written(judged_json(report), Layout()))
    for note in done.notes:
        tell(f"note: {note}")
    for line in summary(report):
        click.echo(line, err=as_json)
    return INCONCLUSIVE if done.judged.left else 0


def _judges(
    names: tuple[str, ...], rubric: "Rubric", settings: "dict[str, Plain]", cassette: Path | None
) -> "list[Judge]":
    """Return the judges that are named; with a cassette and no names those that it holds.

    Raises:
        JudgeSetupError: a name is none, two are the same, or the cassette holds no judge of this rubric.
    """
    from spanproof_evaluators.errors import JudgeSetupError
    from spanproof_evaluators.judges import prompt
    from spanproof_evaluators.judges.cassettes import judges_of, read_cassette
    from spanproof_evaluators.judges.families import family
    from spanproof_evaluators.judges.providers import split
    from spanproof_evaluators.model.judgements import Judge

    if not names:
        if cassette is None:
            raise JudgeSetupError("name a judge: --model PROVIDER:MODEL; or replay recorded verdicts with --cassette")
        return judges_of(read_cassette(cassette), rubric, prompt.HASH)
    found = []
    for name in names:
        provider, model, revision = split(name)
        found.append(
            Judge(
                provider=provider,
                model=model,
                family=family(model),
                prompt_hash=prompt.HASH,
                rubric=rubric.id,
                rubric_hash=rubric.hash,
                settings=settings,
                revision=revision,
            )
        )
    if len({one.evaluator for one in found}) < len(found):
        raise JudgeSetupError(
            "two judges of the panel are the same. Name each model once, or give weights an @REVISION"
        )
    return found


def _settings(temperature: float, seed: int | None, max_tokens: int, extra_body: str | None) -> "dict[str, Plain]":
    """Return what is sent with every request.

    Raises:
        FilterError: the extra body is no JSON object.
    """
    from spanproof_evaluators.errors import FilterError

    found: dict[str, Plain] = {"temperature": temperature, "max_tokens": max_tokens}
    if seed is not None:
        found["seed"] = seed
    if extra_body is not None:
        try:
            body = json.loads(extra_body)
        except ValueError as error:
            raise FilterError(f"--extra-body is no JSON: {error}") from error
        if not isinstance(body, dict):
            raise FilterError("""--extra-body is no JSON object. Give one, as '{"cache_prompt": false}'""")
        found["extra_body"] = body
    return found


def _base_urls(given: tuple[str, ...], judges: "list[Judge]") -> dict[str, str]:
    """Return addresses by name of the judge, that of all by the empty name.

    Raises:
        FilterError: a value is none, or names no judge.
    """
    from spanproof_evaluators.errors import FilterError

    found: dict[str, str] = {}
    for value in given:
        name, equals, url = ("", "=", value) if value.startswith(("http://", "https://")) else value.partition("=")
        if not equals or not url.startswith(("http://", "https://")):
            raise FilterError(f"--base-url {value!r} is no address. Give http://HOST/PATH, or MODEL=http://HOST/PATH")
        if name and name not in {one.name for one in judges}:
            raise FilterError(f"--base-url {value!r} names no judge of this run: say it as --model does")
        if name in found:
            raise FilterError(f"--base-url is given twice for {name or 'all models'}")
        found[name] = url
    return found


def _money(text: str | None) -> Decimal | None:
    """Return USD.

    Raises:
        FilterError: it is no positive amount.
    """
    from spanproof_evaluators.errors import FilterError

    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise FilterError(f"--budget-usd {text!r} is no amount. Give USD, as 2.50") from error
    if not amount.is_finite() or amount <= 0:
        raise FilterError(f"--budget-usd {text!r} is no positive amount")
    return amount
