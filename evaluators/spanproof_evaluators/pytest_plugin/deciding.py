"""The end of a session: a policy over all of its trials, variant by variant."""

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from spanproof_collector.model.filters import UNNAMED
from spanproof_evaluators.errors import BaselineError, EvaluatorError
from spanproof_evaluators.gates import POLICIES, find_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.baselines import DEFAULT_FOLDER, names, read_baseline
from spanproof_evaluators.model.comparisons import Observation
from spanproof_evaluators.model.decisions import Decision, Verdict
from spanproof_evaluators.model.policies import Policy
from spanproof_evaluators.pytest_plugin.session import Session
from spanproof_evaluators.reports.wording import one_line, plural
from spanproof_evaluators.runner import assess, gate, observed
from spanproof_instrumentation.errors import SpanproofError


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the policy says of the session."""

    decision: Verdict
    policy: Policy
    variants: Mapping[str, Decision] = field(default_factory=dict)
    baseline: str | None = None
    why: str = ""
    """Why nothing was decided, or what keeps a pass from being one."""

    def lines(self, *, width: int, color: bool) -> list[str]:
        """Return what is printed, the last line the decision."""
        from rich.console import Console

        from spanproof_evaluators.reports.terminal import print_decision

        written = io.StringIO()
        console = Console(
            file=written,
            width=width,
            force_terminal=color,
            no_color=not color,
            markup=False,
            highlight=False,
            emoji=False,
        )
        for name, decision in self.variants.items():
            print_decision(console, decision, self.policy, name, self.baseline)
        by = [
            f"{one_line(name)} {one.decision} at gate {one.decided_by}"
            for name, one in self.variants.items()
            if one.decision != "pass"
        ]
        told = "; ".join([*by, *([self.why] if self.why else [])]) or "every gate passes"
        last = f"policy {self.policy.id}: {self.decision.upper()} ({told})"
        if self.decision == "inconclusive":
            last += ". What cannot be said is no pass: the exit status is not 0"
        return [*written.getvalue().rstrip().splitlines(), last]


def policy_of(config: pytest.Config) -> Policy:
    """Return the policy that the option names.

    Raises:
        pytest.UsageError: there is none of that name, or the file is none.
    """
    given = str(config.getoption("--spanproof-policy"))
    file = config.invocation_params.dir / given
    try:
        return find_policy(given if given in POLICIES else str(file))
    except EvaluatorError as error:
        raise pytest.UsageError(f"--spanproof-policy: {error}") from error


def decide(config: pytest.Config, session: Session | None, exitstatus: int) -> Decided:
    """Return what the policy says. What cannot be decided is inconclusive, and says why."""
    policy = policy_of(config)
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return Decided(decision="inconclusive", policy=policy, why="the tests did not run to their end")
    ids = session.trials() if session is not None else ()
    if session is None or not ids:
        return Decided(decision="inconclusive", policy=policy, why="no test recorded a trial")
    try:
        return _decided(config, session, ids, policy)
    except SpanproofError as error:
        return Decided(decision="inconclusive", policy=policy, why=str(error))


def _decided(config: pytest.Config, session: Session, ids: Sequence[str], policy: Policy) -> Decided:
    from spanproof_collector.model.filters import Filter

    found = list(assess(session.store(), Filter(trials=tuple(ids)), session.suite))
    groups: defaultdict[str, list[Assessment]] = defaultdict(list)
    for one in found:
        groups[one.trial.variant or UNNAMED].append(one)
    name = config.getoption("--spanproof-baseline")
    old = _baseline(name, config.rootpath / DEFAULT_FOLDER, groups) if name else None
    judged = {variant: trials for variant, trials in sorted(groups.items()) if len(groups) == 1 or variant != name}
    decisions = {
        variant: gate(trials, policy, name=variant, baseline=old, baseline_name=name or "baseline")[0]
        for variant, trials in judged.items()
    }
    lost = len(set(ids) - {one.trial.trial_id for one in found})
    why = f"of {plural(lost, 'trial')} no span came" if lost else ""
    said = {one.decision for one in decisions.values()}
    decision: Verdict = "pass"
    if "fail" in said:
        decision = "fail"
    elif said != {"pass"} or lost:
        decision = "inconclusive"
    return Decided(decision=decision, policy=policy, variants=decisions, baseline=name, why=why)


def _baseline(name: str, folder: Path, groups: Mapping[str, Sequence[Assessment]]) -> list[Observation]:
    """Return the trials to compare with: of a saved baseline, else of a variant of this session.

    Raises:
        BaselineError: there is neither.
    """
    if (folder / f"{name}.json").is_file():
        return list(read_baseline(folder, name).observations)
    if name not in groups:
        saved = ", ".join(names(folder)) or "none"
        raise BaselineError(name, "", f"is no saved baseline (there are: {saved}) and no variant of this session")
    return [observed(one) for one in groups[name]]
