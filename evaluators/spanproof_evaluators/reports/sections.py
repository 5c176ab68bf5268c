"""The parts of a report that hold measures: what stands together under which heading, in every format alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spanproof_evaluators.model.reports import CATEGORY, Report, VariantReport
from spanproof_evaluators.reports.wording import BESIDE, SIGNALS, headline, repeated, robust

TOGETHER: Final[Mapping[str, str]] = {
    "solve_rate": "Solved",
    "cost_per_verified_outcome": "Cost per verified outcome",
    "aborted_rate": "Aborted",
    "solve_rate_without_vacuous": "Solved, without vacuous tasks",
    "cost_per_verified_outcome_without_vacuous": "Cost per verified outcome, without vacuous tasks",
    "aborted_rate_without_vacuous": "Aborted, without vacuous tasks",
}
"""Three numbers that none of them may be printed without, and the same over tasks that were not done before (R004)."""

CONDUCT: Final[Mapping[str, str]] = {
    "gen_ai.invoke_agent.tool_calls": "Tool calls",
    "gen_ai.client.token.usage": "Tokens, in and out",
    "clean_trajectories": "Clean trajectories",
    "trials_with_repeats": "With repeats",
    "trials_with_forbidden_tools": "With forbidden tools",
}
"""What the founding report prints beside its categories (R108)."""

FAILURES: Final[Mapping[str, str]] = {
    "mtbf_steps": "Steps between failed steps",
    "mtbf_trials": "Trials between unsolved ones",
    "recovered_failures": "Recovered from",
    "recovery_after_error": "Solved after a tool error",
    "mttr_steps": "Calls to recovery",
    "mttr_seconds": "Seconds to recovery",
    "blast_radius_files": "Files changed by a failed trial",
    "blast_radius_rows": "Rows changed by a failed trial",
    "blast_radius_changes": "Changes recorded of a failed trial",
    "blast_radius_effects": "Effects left by a failed trial",
    "blast_radius_over_limit": "Over their limit of files",
}

TELEMETRY: Final[Mapping[str, str]] = {
    "gen_ai.client.token.usage.input": "Input tokens",
    "gen_ai.client.token.usage.output": "Output tokens",
    "gen_ai.client.token.usage.cache_read": "Tokens read from a cache",
    "gen_ai.client.token.usage.cache_creation": "Tokens written to a cache",
    "gen_ai.client.token.usage.reasoning": "Reasoning tokens",
    "gen_ai.client.operation.duration": "Seconds an inference",
    "gen_ai.invoke_agent.duration": "Seconds a run of an agent",
    "gen_ai.invoke_agent.inference_calls": "Inferences a trial",
    "gen_ai.execute_tool.duration": "Seconds a tool call",
    "task.duration": "Seconds a task",
}
"""By OpenTelemetry's names. Tool calls and all tokens stand beside the categories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Measures under one heading."""

    title: str
    measures: Mapping[str, str]
    """How each is called, by its name among a variant's numbers."""

    about: str = ""
    lean: bool = False
    """Where nobody recorded what most of it is of, a short report names what is unavailable in one line."""


def signals() -> Section:
    """Return the five signals, with the coverage that stands next to them."""
    return Section(title="Signals", measures=SIGNALS)


def together() -> Section:
    """Return the three numbers that are always printed together."""
    return Section(
        title="Solved, at which cost, and aborted",
        measures=TOGETHER,
        about="a task is vacuous if its checks pass before the trial begins",
    )


def categories(report: Report) -> Section | None:
    """Return the solve rate by category and over all, and how it was gone about; ``None`` without categories."""
    named = sorted({name for variant in report.variants for name in variant.categories})
    if not named:
        return None
    rows = {f"{CATEGORY}{name}": name for name in named}
    return Section(
        title="By category",
        measures={**rows, "solve_rate": "Overall"},
        about="solved of trials" + (f", in brackets {report.before.name}" if report.before is not None else ""),
    )


def rest(report: Report) -> list[Section]:
    """Return what stands after the proofs, what explains last."""
    found = [categories(report)]
    if over_trials := repeated(report.variants):
        found.append(Section(title="Over repeated trials", measures=over_trials))
    if robustness := robust(report.variants):
        found.append(Section(title="Robustness", measures=robustness))
    if judged := sorted({name for variant in report.variants for name in variant.judged}):
        found.append(
            Section(
                title="By judges",
                measures={name: _judge(name) for name in judged},
                about="a judge's errors taken out by its calibration; decides nothing",
            )
        )
    found += [
        Section(title="How it went about it", measures=CONDUCT, about="means and counts of trials; decides nothing"),
        Section(title="Beside the signals", measures=BESIDE),
        Section(
            title="Failures, recovery, reach",
            measures=FAILURES,
            about="a step is a tool call; recovered is verified",
            lean=True,
        ),
        Section(
            title="Operational telemetry",
            measures=TELEMETRY,
            about="mean (total / of how many); explains, decides nothing",
            lean=True,
        ),
    ]
    return [one for one in found if one is not None]


def _judge(name: str) -> str:
    """Return what a rate by a judge is called."""
    kind, _, evaluator = name.partition(" judge:")
    return f"{evaluator}, with labels" if kind.endswith("powered") else evaluator


def every(report: Report) -> list[Section]:
    """Return every part in the order in which it is read."""
    return [signals(), together(), *rest(report)]


def shown(section: Section, report: Report, *, whole: bool) -> tuple[dict[str, str], list[str]]:
    """Return the measures to print, and the names of those that no variant has anything of.

    Args:
        section: the part.
        report: what it is of.
        whole: print those too, each with its reason.
    """
    if whole or not section.lean:
        return dict(section.measures), []
    told = {
        name: called
        for name, called in section.measures.items()
        if any(one.numbers[name].n_units for one in report.variants)
    }
    return told, [called for name, called in section.measures.items() if name not in told]


def tasks_of(name: str, variant: VariantReport) -> int:
    """Return how many tasks a number is of, so that counts come first where they are few: a category has fewer."""
    return variant.numbers[name].n_clusters if name.startswith(CATEGORY) else variant.tasks


def bracket(report: Report, name: str, variant: VariantReport) -> str:
    """Return the baseline's number in brackets, empty where there is none of that name."""
    if report.before is None or name not in report.before.numbers:
        return ""
    measure = report.before.numbers[name]
    told = headline(measure, tasks_of(name, variant))
    return f"[{report.before.name}: {told}]"
