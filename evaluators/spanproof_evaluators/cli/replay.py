"""spanproof replay: recorded calls into a fresh environment, where they first come out differently, and the verdict."""

from collections import Counter
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
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from rich.console import Console

    from spanproof_collector.model.filters import Filter
    from spanproof_collector.model.trials import Trial
    from spanproof_collector.store import Store
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.runner.replaying import Replay
    from spanproof_evaluators.runner.replaying_mutants import MutationScore
    from spanproof_evaluators.runner.replaying_trials import Replaying

_MOST: Final = 8
"""How many changes of a trial are printed; --json has all."""


@click.command("replay", short_help="Replay recorded calls in a fresh environment; store the verdicts.")
@click.argument("trial_ids", nargs=-1, metavar="[TRIAL]...")
@store_option
@filter_options
@unit_option
@tools_option
@click.option(
    "--environment",
    metavar="NAME|FILE",
    help="What to replay in: tau2, agentdojo, one of another package, or a YAML file that defines one. "
    "Without it, the one that a trial was recorded from.",
)
@click.option(
    "--allow-irreversible",
    "allowed",
    multiple=True,
    metavar="TOOL",
    help="Make calls of this irreversible tool, too. Repeatable.",
)
@click.option(
    "--mutants", is_flag=True, help="Also judge each verified trial with one effect dropped, doubled, altered."
)
@click.option("--dry-run", is_flag=True, help="Only say which calls would be made. Nothing is called or stored.")
@json_option
def command(
    trial_ids: tuple[str, ...],
    address: str,
    unit: Unit,
    tools_file: str | None,
    environment: str | None,
    allowed: tuple[str, ...],
    mutants: bool,
    dry_run: bool,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Replay each TRIAL, or those of a filter; the beginning of an id is enough.

    Calls that never ran are left out. Irreversible tools are not called unless they are allowed by name. The verdict
    on the end state is stored as the trial's outcome, with the first answer that differs from the recorded one.
    --suite takes a file whose checks judge environments that know no criteria themselves.

    Exit codes: 0 done, 2 could not run.
    """
    from dataclasses import replace

    from spanproof_collector.trials import read_trials
    from spanproof_evaluators.environments import environment as environment_of
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.runner import evaluate
    from spanproof_evaluators.runner.outcome_sources import RECORDED_CHANGES
    from spanproof_evaluators.runner.recorded_changes import RecordedChanges
    from spanproof_evaluators.runner.replaying_trials import Replaying

    suite, labels = split_suites(suites)
    wanted = read_filter({**given, "suites": labels})
    chosen = environment_of(environment) if environment is not None else None
    states: Counter[str] = Counter()
    out = console()

    def told(trial: "Trial", found: "Replay") -> None:
        states["extra_missing" if found.outcome.reason.startswith("extra_missing") else found.outcome.state] += 1
        score = _score(replaying, trial, found) if mutants else None
        if as_json:
            from spanproof_evaluators.reports.machine import line

            click.echo(line(_as_json(trial, found) | ({} if score is None else {"mutants": _score_json(score)})))
        else:
            _print(out, trial, found, score)

    replaying = Replaying(environment=chosen, suite=suite, allowed=allowed, only_dry=dry_run, told=told)
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        if trial_ids:
            wanted = replace(wanted, trials=(*wanted.trials, *(_found(store, one, wanted, unit) for one in trial_ids)))
        if dry_run:
            for trial in read_trials(store, wanted, unit=unit, catalogue=catalogue):
                replaying.replay(trial)
        else:
            sources = (replaying, RecordedChanges())
            for one in evaluate(store, wanted, suite, sources=sources, unit=unit, catalogue=catalogue):
                states["judged by recorded changes"] += one.outcome.verifier == RECORDED_CHANGES
    if not states:
        raise NoTrialsError(describe(wanted))
    tell(", ".join(f"{count} {state}" for state, count in sorted((+states).items())))
    if (+states).keys() == {"extra_missing"}:
        raise SystemExit(2)


def _found(store: "Store", asked: str, wanted: "Filter", unit: Unit) -> str:
    """Return the id of the one trial that is called so, or begins so.

    Raises:
        ChoiceError: none or several.
    """
    from dataclasses import replace

    from spanproof_collector.trials import read_trials
    from spanproof_evaluators.errors import ChoiceError

    if any(True for _ in read_trials(store, replace(wanted, trials=(asked,)), unit=unit)):
        return asked
    found = [
        trial.trial_id
        for trial in read_trials(store, wanted, unit=unit)
        if any(name.startswith(asked) for name in (trial.trial_id, trial.session_id or "", *trial.trace_ids))
    ]
    if len(found) != 1:
        raise ChoiceError(asked, found)
    return found[0]


def _score(replaying: "Replaying", trial: "Trial", found: "Replay") -> "MutationScore":
    """Return how many mutants of a replay its verdict notices."""
    from spanproof_evaluators.runner.replaying_mutants import MutationScore, mutation_score
    from spanproof_evaluators.runner.replaying_trials import recording_of

    recording = recording_of(trial)
    environment = replaying.fitting(recording)
    if environment is None:
        return MutationScore()
    task = replaying.task(trial)
    return mutation_score(recording, environment, found, task=task, allowed=replaying.allowed)


def _score_json(score: "MutationScore") -> "Plain":
    """Return a mutation score, with the mutants that nobody noticed."""
    return {
        "value": score.value,
        "killed": score.killed,
        "total": score.total,
        "survived": [
            {"kind": one.mutant.kind, "call": one.mutant.place, "argument": one.mutant.argument}
            for one in score.judged
            if one.state == "survived"
        ],
    }


def _as_json(trial: "Trial", found: "Replay") -> "dict[str, Plain]":
    """Return one replay."""
    from spanproof_evaluators.model.canonical import plain
    from spanproof_evaluators.runner.replaying import divergence_of

    outcome = found.outcome
    return {
        "trial_id": trial.trial_id,
        "path": trial.path,
        "environment": found.environment,
        "version": found.version,
        "start": found.start,
        "end": found.end,
        "calls": [
            {
                "tool": step.call.name,
                "by": step.call.by,
                "arguments": step.call.arguments,
                "done": step.done,
                "recorded": plain(step.call.recorded),
                "came": plain(step.answer),
                "same": step.same,
                "changed": step.changed,
            }
            for step in found.steps
        ],
        "divergence": divergence_of(found),
        "changes": list(found.changes),
        "outcome": {
            "state": outcome.state,
            "effect_of_trial": outcome.effect_of_trial,
            "reason": outcome.reason,
            "pre_state": outcome.pre_state,
            "verifier": outcome.verifier,
            "checks": [plain(check) for check in outcome.checks],
        },
        **found.beside,
    }


def _print(out: "Console", trial: "Trial", found: "Replay", score: "MutationScore | None") -> None:
    """Print one replay."""
    from rich.text import Text

    from spanproof_evaluators.model.canonical import canonical
    from spanproof_evaluators.reports.wording import one_line, plural

    outcome = found.outcome
    effect = f", {outcome.effect_of_trial}" if outcome.effect_of_trial else ""
    style = {"verified": "green", "failed": "bold red"}.get(outcome.state, "yellow")
    head = Text.assemble((trial.trial_id, "bold"), "  ", (f"{outcome.state}{effect}", style))
    out.print(head, soft_wrap=True)

    def say(name: str, text: str, longest: int = 400) -> None:
        out.print(f"  {name:<10} {one_line(text, longest)}", soft_wrap=True)

    if found.environment is not None:
        say("in", f"{found.environment}, {found.version}")
    say("because", outcome.reason)
    done = Counter(step.done for step in found.steps)
    if found.steps:
        counts = [
            plural(len(found.steps), "call"),
            *(f"{count} {what.replace('_', ' ')}" for what, count in sorted(done.items()) if what != "applied"),
            f"{sum(step.same is False for step in found.steps)} answered otherwise than recorded",
            f"{sum(step.changed is True for step in found.steps)} changed the world",
        ]
        say("calls", ", ".join(counts))
    for number, step in enumerate(found.steps):
        if step.done == "dry_run":
            say("not called", f"{number}: {step.call.name} {canonical(step.call.arguments)}")
    place = found.divergence
    if place is not None:
        step = found.steps[place]
        say("diverges", f"at call {place}: {step.call.name} {canonical(step.call.arguments)}")
        say("  recorded", canonical(step.call.recorded))
        say("  came", canonical(step.answer))
    for change in found.changes[:_MOST]:
        if isinstance(change, dict):
            say("changed", f"{change['path']}: {canonical(change['before'])} -> {canonical(change['after'])}", 200)
    if len(found.changes) > _MOST:
        say("", f"and {len(found.changes) - _MOST} more changes")
    for name, value in found.beside.items():
        say(name, canonical(value))
    if score is not None:
        of = f"{score.killed} of {score.total} noticed" if score.total else "none to notice"
        missed = [
            f"{one.mutant.kind} call {one.mutant.place}{one.mutant.argument or ''}"
            for one in score.judged
            if one.state == "survived"
        ]
        say("mutants", "; ".join([of, *(["not: " + ", ".join(missed)] if missed else [])]))
