"""What a trust card says of a suite."""

from collections.abc import Callable

from spanproof_evaluators.model.suite_findings import SuiteFinding
from spanproof_evaluators.model.trust_cards import TaskTrust, TrustCard


def of_card(card: TrustCard) -> list[SuiteFinding]:
    """Return what makes verdicts of the suite doubtful; what was not tried is a warning, never a pass."""

    def about(id_: str, level: str, says: str, which: Callable[[TaskTrust], bool]) -> list[SuiteFinding]:
        found = tuple(one.task for one in card.tasks if which(one))
        if not found:
            return []
        return [
            SuiteFinding(
                id=id_,
                level="failure" if level == "failure" else "warning",
                says=f"{len(found)} of {len(card.tasks)} tasks: {says}",
                tasks=found,
            )
        ]

    found = [
        *about("vacuous", "failure", "an agent that does nothing passes", lambda one: one.vacuous),
        *about(
            "dump_passes",
            "failure",
            "an agent that prints all it can see passes",
            lambda one: one.dump == "verified" and not one.vacuous,
        ),
        *about("reference_fails", "failure", "the reference solution fails", lambda one: one.reference == "failed"),
        *about(
            "impossible_passes",
            "failure",
            "checks that ask for what nobody did pass",
            lambda one: one.impossible == "verified",
        ),
        *about("tampering_passes", "failure", "tampering passes unseen", lambda one: one.tampering == "unseen"),
        *about("mutants_survive", "warning", "altered end states pass", lambda one: bool(one.survivors)),
        *about(
            "no_reference",
            "warning",
            "no reference solution is verified, so nobody knows whether the checks can pass",
            lambda one: one.reference not in ("verified", "failed"),
        ),
        *about("not_tried", "warning", "nothing could be tried", lambda one: one.null is None),
    ]
    if not found:
        found.append(
            SuiteFinding(id="trust", level="ok", says="every check failed what it must and passed what it must")
        )
    return found
