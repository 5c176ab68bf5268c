"""Certifying: a report as hashes and numbers, and all of it computed again from the stored spans."""

from collections.abc import Iterator, Sequence

from spanproof_collector.model.filters import Filter
from spanproof_collector.model.tool_catalogue import EMPTY, ToolCatalogue
from spanproof_collector.store import Store
from spanproof_collector.trials import prices, read_trials
from spanproof_evaluators.gates import release_policy
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.calibrations import Calibration
from spanproof_evaluators.model.canonical import Plain, digest
from spanproof_evaluators.model.certificates import Asked, Certificate, CertifiedTrial
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.suites import Suite
from spanproof_evaluators.rules import VERSION as RULES_VERSION
from spanproof_evaluators.runner import stored
from spanproof_evaluators.runner.assessing import TRIALS_A_WRITE, judge_again
from spanproof_evaluators.runner.recorded_changes import RecordedChanges
from spanproof_evaluators.runner.reporting import MEASURES_VERSION, report
from spanproof_evaluators.stats.comparisons import SEED
from spanproof_evaluators.verifiers import VERSION as VERIFIERS_VERSION


def certify(made: Report, asked: Asked, catalogue: ToolCatalogue = EMPTY) -> Certificate:
    """Return the certificate of a report that was made with the release gates."""
    return Certificate(
        certificate=made.certificate,
        asked=asked,
        suite=made.suite_id,
        suite_hash=made.suite_hash,
        gates=digest(release_policy()),
        tools=digest(catalogue),
        versions={
            "rules": RULES_VERSION,
            "verifiers": VERIFIERS_VERSION,
            "measures": MEASURES_VERSION,
            "prices": prices.catalogue(),
            "seed": str(SEED),
        },
        trials=tuple(
            CertifiedTrial(
                project=one.trial.project,
                key=stored.key(one.trial),
                evidence=one.evidence,
                words={word.evaluator: digest(word) for word in one.all_results},
            )
            for one in made.assessments
        ),
        numbers={
            variant.name: {name: measure.to_json() for name, measure in variant.numbers.items()}
            for variant in made.variants
        },
        decisions={variant.name: variant.decision.to_json() for variant in made.variants},
    )


def recompute(
    store: Store,
    certificate: Certificate,
    suite: Suite | None,
    catalogue: ToolCatalogue = EMPTY,
    calibrations: Sequence[Calibration] = (),
) -> Certificate:
    """Return the certificate that the store gives now: every rule and check run again over the spans.

    What a verifier saw at a live destination cannot be seen again: its stored word counts while the evidence is the
    same.
    """
    asked = certificate.asked
    wanted = Filter(**{name: value for name, value in asked.model_dump().items() if name not in ("unit", "by")})
    found = list(_again(store, wanted, suite, asked, catalogue))
    made = report(found, suite, described="", by=asked.by, calibrations=calibrations)
    return certify(made, asked, catalogue)


def _again(
    store: Store, wanted: Filter, suite: Suite | None, asked: Asked, catalogue: ToolCatalogue
) -> Iterator[Assessment]:
    batch = []
    for trial in read_trials(store, wanted, unit=asked.unit, catalogue=catalogue):
        batch.append(trial)
        if len(batch) == TRIALS_A_WRITE:
            yield from judge_again(store, batch, suite, (RecordedChanges(),))
            batch = []
    yield from judge_again(store, batch, suite, (RecordedChanges(),))


def differences(before: Certificate, now: Certificate) -> list[str]:
    """Return what differs, the numbers first, each with the trials whose evidence or words are not the same.

    Two certificates without a difference are one text, byte for byte.
    """
    found = _inputs(before, now)
    old = {(one.project, one.key): one for one in before.trials}
    new = {(one.project, one.key): one for one in now.trials}
    changed = [f"{key[1]} is gone" for key in old if key not in new]
    changed += [f"{key[1]} is new" for key in new if key not in old]
    for key, one in old.items():
        if key in new and one != new[key]:
            changed.append(f"{key[1]}: {_changed(one, new[key])}")
    because = (
        f" ({'; '.join(changed[:3])}{f' and {len(changed) - 3} more' if len(changed) > 3 else ''})" if changed else ""
    )
    numbers = list(_numbers(before, now))
    found += [f"{number}{because}" for number in numbers]
    if not numbers:
        found += [f"trial {one}" for one in changed]
    if not found and as_text(before) != as_text(now):
        found.append("the certificates differ")
    return found


def _inputs(before: Certificate, now: Certificate) -> list[str]:
    pairs: list[tuple[str, Plain, Plain]] = [
        ("suite", before.suite_hash, now.suite_hash),
        ("gates", before.gates, now.gates),
        ("catalogue of tools", before.tools, now.tools),
        *((f"version of {name}", version, now.versions.get(name)) for name, version in before.versions.items()),
    ]
    return [f"{name}: {old} then, {new} now" for name, old, new in pairs if old != new]


def _changed(old: CertifiedTrial, new: CertifiedTrial) -> str:
    if old.evidence != new.evidence:
        return "its spans are not the same"
    words = [name for name in (old.words | new.words) if old.words.get(name) != new.words.get(name)]
    return f"the words of {', '.join(words)} are not the same"


def _numbers(before: Certificate, now: Certificate) -> Iterator[str]:
    for variant, measures in before.numbers.items():
        for name, measure in measures.items():
            other = now.numbers.get(variant, {}).get(name)
            if other != measure:
                yield f"{variant} / {name}: {_shown(measure)} then, {_shown(other)} now"
    for variant in now.numbers.keys() - before.numbers.keys():
        yield f"variant {variant} is new"
    for variant, decision in before.decisions.items():
        told, other = decision.get("decision"), now.decisions.get(variant, {}).get("decision")
        if told != other:
            yield f"{variant} / decision: {told} then, {other} now"


def _shown(measure: object) -> str:
    if not isinstance(measure, dict):
        return "not there"
    counts = f"{measure.get('numerator')}/{measure.get('denominator')}"
    if measure.get("unavailable"):
        counts += f", {measure['unavailable']} unavailable"
    return f"{measure.get('value')} ({counts})"


def as_text(certificate: Certificate) -> str:
    """Return a certificate as it is written: two of the same content are the same bytes."""
    return certificate.model_dump_json(indent=1) + "\n"
