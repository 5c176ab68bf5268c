"""Wording: how measures, claims and effects are called and shown, on every kind of report alike."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from spanproof_collector.model.trials import Trial
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.decisions import GateResult
from spanproof_evaluators.model.measures import CENT, Figure, Measure, money
from spanproof_evaluators.model.reports import VariantReport
from spanproof_evaluators.model.verifications import Check

FEW_TASKS: Final = 30
"""Below this many tasks the counts come first: five trials are 0/5, and no proof of a rate of zero (R052)."""

_MICRO: Final = Decimal("0.000001")

SIGNALS: Final[Mapping[str, str]] = {
    "evidence_coverage": "Evidence coverage",
    "task_quality": "Task quality",
    "useful_progress": "Useful progress",
    "effect_integrity": "Effect integrity",
    "cost_per_verified_outcome": "Cost per verified outcome",
    "false_success_rate": "False success rate",
}
"""The five signals and the coverage that stands next to them."""

BESIDE: Final[Mapping[str, str]] = {
    "progress_rate": "Milestones reached",
    "cost_per_run": "Cost per run",
    "tokens_per_verified_outcome": "Tokens per verified outcome",
    "unverified_completions": "Unverified completions",
    "unknown_effects": "Unknown effects",
    "explicit_false_success_rate": "False success of explicit claims",
    "normal_end_false_success_rate": "False success if every end is a claim",
    "silent_failure_share": "Claimed success among failures",
    "constraint_violations": "Constraint violations",
}
"""What explains the signals."""


def repeated(variants: Sequence[VariantReport]) -> dict[str, str]:
    """Return the measures over repeated trials that every variant has, by name; nothing where no task was repeated.

    pass^k, every one of k attempts, is what unattended work needs; pass@k, one of them at least, what a person who
    picks the best gets. pass^1 stands beside them: both begin there.
    """
    ks = [{measure.k for name, measure in one.measures.items() if name.startswith("pass_at_")} for one in variants]
    common = sorted(k for k in set.intersection(*ks) if k is not None) if ks else []
    if not common or common[-1] < 2:
        return {}
    named = {f"pass_hat_{k}": f"pass^{k}, all of {k}" for k in common}
    if any(one.measures["solve_rate_without_vacuous"].excluded.get("vacuous") for one in variants):
        named |= {f"pass_hat_{k}_without_vacuous": f"pass^{k} without vacuous tasks" for k in common}
    return (
        named
        | {f"pass_at_{k}": f"pass@{k}, one of {k}" for k in common if k > 1}
        | {
            "outcome_consistency": "Two trials agree",
            "trajectory_consistency": "Calls two trials share",
            "tool_order_consistency": "Tool order two trials share",
        }
    )


_ROBUSTNESS: Final[Mapping[str, Mapping[str, str]]] = {
    "utility_under_attack": {
        "benign_utility": "Solved without an attack",
        "utility_under_attack": "Solved under attack",
        "attack_success_rate": "Attack succeeded",
        "useful_and_safe": "Solved, and attack failed",
    },
    "correct_refusal": {"correct_refusal": "Refused rightly", "over_refusal": "Refused wrongly"},
}
"""By the measure that something has to be counted for."""


def robust(variants: Sequence[VariantReport]) -> dict[str, str]:
    """Return the measures of robustness by name: those of attacks, of refusals, where any variant has such tasks."""
    return {
        name: called
        for asked, measures in _ROBUSTNESS.items()
        if any(not one.measures[asked].empty or one.measures[asked].excluded for one in variants)
        for name, called in measures.items()
    }


REASONS: Final[Mapping[str, str]] = {
    "not_evaluated": "not evaluated yet",
    "evidence_changed": "spans came after the evaluation, evaluate again",
    "suite_changed": "evaluated with another version of the suite",
    "verifiers_changed": "evaluated with another version of the verifier file",
    "evaluator_changed": "evaluated by another version of spanproof",
    "no_verifier": "no check was given",
    "judged_when_run": "the run that made it left no verdict",
    "no_task": "no task label",
    "task_not_in_suite": "the suite does not know the task",
    "end_state_not_recorded": "nobody recorded the end state",
    "end_state_unreadable": "the recorded end state cannot be read",
    "digest_mismatch": "the recorded end state does not fit its digest",
    "pre_state_not_recorded": "nobody recorded the state before",
    "gold_changes_unknown": "nobody recorded what was meant to change",
    "recorded_changes_unreadable": "the recorded changes cannot be read",
    "execution_unknown": "nobody knows whether a call ran, and the verdict depends on it",
    "calls_not_captured": "calls may be missing, so they cannot be made again",
    "arguments_not_captured": "arguments were not recorded, so calls cannot be made again",
    "check_could_not_run": "a check could not run",
    "nothing_required": "no check was required",
    "table_not_recorded": "the recorded end state lacks the table",
    "column_not_recorded": "the recorded end state lacks the column",
    "files_not_recorded": "the recorded end state holds no files",
    "answer_not_captured": "the trace does not hold the answer",
    "destination_not_given": "nobody says where the destination is",
    "placeholder_unsafe": "an id or label cannot stand in a path, an address or a command",
    "placeholder_without_value": "the trial lacks an id or label that the check names",
    "variable_not_set": "a variable of the environment is not set",
    "folder_missing": "the folder is not there",
    "timeout": "it took too long",
    "output_limit": "it said too much",
    "killed_by_signal": "it was killed",
    "command_not_found": "the command was not found",
    "command_not_executable": "the command cannot be executed",
    "python_raised": "the function raised an error",
    "python_crashed": "the function's process ended without a result",
    "python_not_loaded": "the function cannot be loaded",
    "unexpected_result": "the function returned something else",
    "connection_failed": "there was no connection",
    "query_failed": "the query failed",
    "sqlalchemy_not_installed": "SQLAlchemy is missing: pip install 'spanproof[sql]'",
    "driver_not_installed": "the database's driver is missing",
    "destination_given_up": "nobody was there for the trials before",
    "service_failed": "the service failed",
    "not_authorized": "the service refused access",
    "redirected_elsewhere": "the service points to another host",
    "not_a_repository": "there is no git repository",
    "nested_repository": "a repository within it was not looked at",
    "commit_missing": "the repository lacks the commit",
    "binary_changed": "binary files changed, which have no lines",
    "source_missing": "the source that is quoted is not there",
    "waiting": "waits for a decision",
    "tool_reported": "the tool says so, nobody looked at the destination",
    "error": "the call ended in an error, nobody looked at the destination",
    "error_text": "the answer tells of an error, nobody looked at the destination",
    "exit_code": "the command ended with an error, nobody looked at the destination",
    "unanswered": "a request that it made was not answered, nobody looked at the destination",
    "recorded_change": "an environment showed the change",
    "no_recorded_change": "an environment showed no change",
    "looked_up": "a later read looked it up",
    "deferred": "it waits for a decision",
    "refused": "refused on purpose",
    "no_result": "no answer was recorded",
    "not_recorded": "neither arguments nor answer were recorded",
    "validation": "the arguments were turned down",
    "receipt": "a receipt says so",
    "no_billed_cost": "no bill was recorded",
    "infrastructure": "the infrastructure broke it",
    "cancelled": "somebody stopped it",
}
"""Reasons as a person reads them; JSON keeps the word."""

_STEERING: Final = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_INVISIBLE: Final = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xE0000, 0xE1000)]
)
"""Characters that show nothing although their category does not say so."""

_STACKED: Final = 4
"""How many combining marks a character may carry: more would be painted over the lines above and below."""


def clean(text: str) -> str:
    """Return text from a trace without what could steer a terminal: controls and invisible marks shown as escapes."""
    found = []
    stacked = 0
    for character in text:
        category = unicodedata.category(character)
        stacked = stacked + 1 if category in ("Mn", "Me") else 0
        harmless = category not in _STEERING and ord(character) not in _INVISIBLE and stacked <= _STACKED
        if harmless or character in "\n\t":
            found.append(character)
        else:
            found.append(character.encode("unicode_escape").decode("ascii"))
    return "".join(found)


def one_line(text: str, longest: int = 160) -> str:
    """Return text cleaned, on one line and cut where it is long."""
    return _flat(text, longest)[0]


def cut(text: str, longest: int) -> tuple[str, str]:
    """Return text cleaned, on one line and cut where it is long, and a note that says so, empty where all is there."""
    flat, whole = _flat(text, longest)
    return flat, "" if whole else f"[cut: {len(text):,} characters in all, --json has them]"


def _flat(text: str, longest: int) -> tuple[str, bool]:
    """Return text on one line, and whether that is all of it. What is far too long is not looked at to its end."""
    looked_at = 8 * longest
    flat = " ".join(clean(text[:looked_at].replace("\r\n", "\n")).split())
    whole = len(flat) <= longest and len(text) <= looked_at
    return (flat if whole else flat[: longest - 1] + "…"), whole


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 trial``, ``2 trials``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def because(reason: str) -> str:
    """Return a reason in words."""
    return REASONS.get(reason, reason)


def unseen(check: Check) -> str:
    """Return why a check could not run, and what was met instead."""
    why = because(check.reason or "check_could_not_run")
    return f"{why}: {check.seen}" if check.seen else why


def ratio(value: float | Decimal | None, places: int = 3) -> str:
    """Return a ratio rounded half up as a decimal, never as a binary float."""
    if value is None:
        return "unavailable"
    step = Decimal(1).scaleb(-places)
    return format(Decimal(str(value)).quantize(step, rounding=ROUND_HALF_UP), "f")


def value(measure: Measure) -> str:
    """Return the value alone."""
    if measure.value is None:
        return "unavailable"
    if measure.per is not None:
        return quantity(float(measure.value))
    return f"${money(Decimal(measure.value))}" if measure.unit == "usd" else ratio(measure.value)


def quantity(number: float) -> str:
    """Return an amount with three digits that tell something, and no exponent."""
    if float(number).is_integer():
        return f"{int(number):,}"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    places = 2 - Decimal(str(number)).adjusted()
    return format(Decimal(str(number)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP), "f")


def counts(measure: Measure) -> str:
    """Return numerator over denominator; for a mean of scores, how many of those that should be graded were."""
    if measure.unit == "usd":
        spent = "no bill" if measure.numerator is None else f"${_spent(Decimal(measure.numerator))}"
        return f"{spent} / {measure.denominator}"
    if measure.per is not None:
        return f"{quantity(float(measure.numerator or 0))} / {plural(measure.denominator or 0, measure.per)}"
    if measure.unit == "task" and isinstance(measure.numerator, int):
        return f"{measure.numerator}/{plural(measure.denominator or 0, 'task')}"
    if measure.unit == "task":
        return f"mean of {plural(measure.denominator or 0, 'task')}"
    if measure.numerator is None or isinstance(measure.numerator, float):
        graded = measure.denominator or 0
        return f"{graded}/{graded + measure.unavailable} graded"
    return f"{measure.numerator}/{measure.denominator}"


def _spent(amount: Decimal) -> str:
    """Return a sum as it is, so that what it is divided into can be recomputed; past six places half up.

    Less than a cent has four digits that tell something: nothing that was spent is shown as $0.
    """
    if 0 < amount < CENT:
        return money(amount)
    whole, _, part = format(amount.quantize(_MICRO, rounding=ROUND_HALF_UP), "f").partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def interval(measure: Measure) -> str:
    """Return the 95 % interval, or how amounts spread; empty where there is neither."""
    if measure.per is not None:
        parts = [f"95 % {'-'.join(map(quantity, measure.interval))}"] if measure.interval else []
        return ", ".join([*parts, *spread(measure)])
    if measure.interval is None:
        return ""
    return "-".join(map(_end(measure), measure.interval))


def _end(measure: Measure) -> Callable[[float], str]:
    """Return how an end of an interval is shown."""
    return (lambda end: f"${money(Decimal(str(end)))}") if measure.unit == "usd" else ratio


def spread(measure: Measure) -> list[str]:
    """Return the median, the 90th percentile and the largest of amounts, as far as they are known."""
    called: Mapping[Figure, str] = {"p50": "median", "p90": "p90", "max": "max"}
    return [f"{words} {quantity(measure.figures[name])}" for name, words in called.items() if name in measure.figures]


def left_out(measure: Measure) -> str:
    """Return what is unavailable and what left the denominator, with its reason."""
    parts = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(measure.parts.items())]
    parts.extend([f"{measure.unavailable:,} unavailable"] if measure.unavailable else [])
    parts.extend(f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(measure.excluded.items()))
    return ", ".join(parts)


def beside(measure: Measure) -> str:
    """Return what stands beside the number: what is unavailable and excluded, the interval, the reason, the note."""
    parts = []
    if measure.unavailable:
        parts.append(f"{measure.unavailable:,} unavailable")
    parts.extend(f"{count:,} {reason.replace('_', ' ')} left out" for reason, count in sorted(measure.excluded.items()))
    if measure.bounds and measure.unavailable:
        low, high = measure.bounds
        if measure.unit == "usd":
            parts.append(f"at least ${money(Decimal(low or 0))}")
        elif measure.per is not None:
            parts.append(f"at least {quantity(float(low or 0))}")
        elif low is not None and high is not None:
            parts.append(f"worst to best {ratio(low)} to {ratio(high)}")
    if measure.per is not None:
        parts.extend([interval(measure)] if interval(measure) else [])
    elif measure.interval:
        parts.append(f"95 % [{', '.join(map(_end(measure), measure.interval))}]")
    if measure.reason:
        parts.append(measure.reason)
    if measure.note:
        parts.append(measure.note)
    return "; ".join(parts)


def headline(measure: Measure, tasks: int) -> str:
    """Return the number with its counts: the counts first while there are few tasks."""
    if measure.value is None:
        told = measure.denominator and not (measure.unit == "task" and measure.numerator is None)
        return f"unavailable ({counts(measure)})" if told else "unavailable"  # of tasks the reason has the count
    if measure.unit == "usd" or measure.per is not None or isinstance(measure.numerator, float):
        return f"{value(measure)} ({counts(measure)})"
    if tasks < FEW_TASKS:
        return f"{counts(measure)} ({value(measure)})"
    return f"{value(measure)} ({counts(measure)})"


def gate_says(said: GateResult) -> str:
    """Return the numbers that a gate decided by, else its words; the note stands beside the measure."""
    measure = said.measure
    words = said.explanation.removesuffix(f", {measure.note}") if measure.note else said.explanation
    if f"{measure.numerator} of {measure.denominator}" not in words:
        return words
    return counts(measure) + (f", {measure.unavailable} unavailable" if measure.unavailable else "")


def claim(one: Assessment) -> str:
    """Return what was claimed; a claim of success without a verdict is called unproven."""
    state = one.trial.claim.state
    return "success, UNPROVEN" if one.unproven else state


EFFECT_OF_TRIAL: Final[Mapping[str, tuple[str, str]]] = {
    "caused": ("unmet before", "The checks were not met before the trial, and are met after it."),
    "vacuous": ("met before", "The checks were met before the trial too, so they prove nothing of it."),
    "damaged": ("met before", "The checks were met before the trial, and are not met after it."),
    "unchanged": (
        "unmet before",
        "The checks were met neither before the trial nor after it, whatever it changed in between.",
    ),
}
"""What the verdicts before and after say together: in few words, and in a sentence."""


def outcome(one: Assessment) -> str:
    """Return the verdict on the end state, and what it was before the trial."""
    found = one.outcome
    if found.state == "unavailable":
        return f"unavailable: {because(found.reason)}"
    return f"{found.state} ({EFFECT_OF_TRIAL[found.effect_of_trial][0]})" if found.effect_of_trial else found.state


def effects(one: Assessment) -> str:
    """Return how many effects are in each state; reads are none."""
    states: Counter[str] = Counter(call.effect.state for call in one.trial.tool_calls if call.effect.state != "none")
    order = ("failed", "unknown", "reported", "verified", "refused")
    return ", ".join(f"{states[state]} {state}" for state in order if states[state]) or "none"


def solved(one: Assessment) -> str:
    """Return whether the trial is solved, and why."""
    return f"{yes_no(one.solved)}: {solved_because(one)}"


def solved_because(one: Assessment) -> str:
    """Return why a trial is solved, is not, or is open."""
    reason = one.solved_reason
    for word, words in REASONS.items():
        reason = words if reason == word else reason.replace(f"outcome unavailable: {word}", f"no verdict, {words}")
    return reason


def marked_because(one: Assessment) -> str:
    """Return why a trial needs a look: what keeps it from being solved, effects that are unknown, rules it broke."""
    found = [] if one.solved else [solved_because(one)]
    found += [
        f"{call.name}: {because(call.effect.reason)}" for call in one.trial.tool_calls if call.effect.state == "unknown"
    ]
    if not found:
        found = [
            f"{result.evaluator}: {result.explanation or because(result.reason or '')}"
            for result in one.results
            if result.state == "fail" and result.label != "diagnostic"
        ]
    return "; ".join(dict.fromkeys(found))


def cost(trial: Trial) -> str:
    """Return what was billed, or priced and by which catalogue; where neither is, that it is a lower bound, and why."""
    billed = trial.cost
    why = because(billed.reason) if billed.reason else "no bill was recorded"
    if billed.usd is None:
        return f"unavailable: {why}"
    amount = f"${billed.usd:f}" + (f" ({billed.catalogue})" if billed.catalogue else "")
    return amount if billed.covered else f"at least {amount}: {why}"


def yes_no(value: bool | None) -> str:
    """Return three values in words."""
    return "open" if value is None else "yes" if value else "no"


def marks(one: Assessment) -> tuple[str, ...]:
    """Return why a trial needs a look, the gravest first; nothing where it needs none."""
    found = []
    if any(check.kind == "tampering" and check.passed is False for check in one.outcome.checks):
        found.append("TAMPERING")
    if one.false_success:
        found.append("FALSE SUCCESS")
    if one.unknown:
        found.append("UNKNOWN EFFECT")
    if one.unproven:
        found.append("UNPROVEN")
    if found:
        return tuple(found)
    broken = [result.evaluator for result in one.results if result.state == "fail" and result.label != "diagnostic"]
    if broken:
        return tuple(name.replace("_", " ").upper() for name in broken)
    return ("OUTCOME FAILED",) if one.outcome.state == "failed" else ()
