"""spanproof gate: a policy decides on one variant."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import (
    Unit,
    calibrations_option,
    describe,
    filter_options,
    json_option,
    open_existing,
    read_baseline_trials,
    read_filter,
    read_tools,
    settling_options,
    split_suites,
    store_option,
    tools_option,
    unit_option,
)
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanproof_evaluators.model.assessments import Assessment
    from spanproof_evaluators.model.canonical import Plain


@click.command("gate", short_help="A policy's decision: pass, fail or inconclusive.")
@click.option(
    "--policy", "policy_name", default="recommended", show_default=True, metavar="NAME|FILE", help="The gates."
)
@click.option("--baseline", metavar="NAME|VARIANT", help="A saved baseline, or another variant in the store.")
@click.option(
    "--baselines",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".spanproof-baselines"),
    show_default=True,
    help="The folder of saved baselines.",
)
@click.option(
    "--nights",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that keeps the evidence of the nights before, for gates by e-value.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a policy, and nothing else.")
@store_option
@filter_options
@unit_option
@tools_option
@calibrations_option
@settling_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    policy_name: str,
    baseline: str | None,
    baselines: Path,
    nights: Path | None,
    schema: bool,
    address: str,
    unit: Unit,
    tools_file: str | None,
    calibrations_path: Path,
    settle_seconds: float,
    idle_seconds: float,
    as_json: bool,
    suites: tuple[str, ...],
    **given: tuple[str, ...] | str | None,
) -> None:
    """Decide by a policy on what 'spanproof evaluate' stored: ordered gates, each with its reason and error rates.

    Policies that come along: founding, nightly, recommended. A policy of your own is a YAML or JSON file.
    One variant is judged: the one that --variant names, or the only one there.

    Exit codes: 0 pass, 1 fail, 2 could not run, 3 inconclusive.
    """
    from spanproof_evaluators.gates import find_policy
    from spanproof_evaluators.model.policies import Policy

    if schema:
        click.echo(json.dumps(Policy.model_json_schema(), indent=1))
        return
    from spanproof_collector.trials import Settling
    from spanproof_evaluators.errors import NoTrialsError
    from spanproof_evaluators.model.calibrations import read_calibrations
    from spanproof_evaluators.model.canonical import digest
    from spanproof_evaluators.model.nights import Nights, read_nights, write_nights
    from spanproof_evaluators.runner import assess, gate, night_evidence

    policy = find_policy(policy_name)
    before = read_nights(nights) if nights else Nights()
    suite, labels = split_suites(suites)
    settling = Settling(settle_seconds=settle_seconds, idle_seconds=idle_seconds)
    asked = {**given, "suites": labels}
    names = tuple(given.get("variants") or ())
    in_store = baseline is not None and not (baselines / f"{baseline}.json").is_file()
    if names and in_store and baseline is not None:
        asked["variants"] = (*names, baseline)
    wanted = read_filter(asked)
    catalogue = read_tools(tools_file)
    with open_existing(address) as store:
        found = list(assess(store, wanted, suite, unit=unit, settling=settling, catalogue=catalogue))
    if not found:
        raise NoTrialsError(describe(wanted))
    variant, trials = _one_variant(found, names, baseline if in_store else None)
    old = read_baseline_trials(baseline, baselines, found)
    night = digest(sorted(one.evidence for one in trials))
    against = digest(sorted(one.evidence for one in old or ()))

    def together(tonight: float) -> Nights:
        return before.after(night, tonight, baseline=against, saved=not in_store)

    decision, comparison = gate(
        trials,
        policy,
        name=variant,
        baseline=old,
        baseline_name=baseline or "baseline",
        together=lambda tonight: together(tonight).evidence,
        calibrations=read_calibrations(calibrations_path),
        suite_hash=suite.hash if suite is not None else None,
    )
    if nights is not None and comparison is not None:
        write_nights(nights, together(night_evidence(comparison)))
    if as_json:
        from spanproof_evaluators.reports.machine import line

        told: dict[str, Plain] = {
            "variant": variant,
            "baseline": baseline,
            "policy": {"id": policy.id, "hash": policy.hash, "owner": policy.owner},
            "filter": describe(wanted),
            "comparison": comparison.to_json() if comparison else None,
        }
        click.echo(line(decision.to_json() | told))
    else:
        from spanproof_evaluators.reports.terminal import print_decision

        print_decision(console(), decision, policy, variant, baseline)
    if comparison is not None and len(comparison.differing) > 1:
        tell(f"the two differ in {len(comparison.differing)} labels: {', '.join(comparison.differing)}")
    context.exit({"pass": 0, "fail": 1, "inconclusive": 3}[decision.decision])


def _one_variant(
    found: "Sequence[Assessment]", names: tuple[str, ...], baseline: str | None
) -> "tuple[str, list[Assessment]]":
    """Return the variant that is judged, and its trials.

    Raises:
        FilterError: it is not clear which.
    """
    from spanproof_collector.model.filters import UNNAMED
    from spanproof_evaluators.errors import FilterError

    there = sorted({one.trial.variant or UNNAMED for one in found} - {baseline})
    chosen = list(names) or there
    listed = ", ".join(there) or "none"
    if len(chosen) != 1:
        raise FilterError(f"a gate judges one variant; name it with --variant. There are: {listed}")
    trials = [one for one in found if (one.trial.variant or UNNAMED) == chosen[0]]
    if not trials:
        raise FilterError(f"no trial is of variant {chosen[0]!r}. There are: {listed}")
    return chosen[0], trials
