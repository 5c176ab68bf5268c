"""What the nights before have shown: a product of e-values, kept in a file between runs."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from spanproof_evaluators.errors import DocumentError
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Written

_MOST: Final = 1e300


class Nights(Written):
    """The evidence so far.

    E-values of independent nights multiply (V. Vovk, R. Wang, "E-values", 2021), and nights are independent where the
    baseline was run anew for each. Against a saved baseline they are not: its luck is in every one of them. Those are
    added up with weights that come to 1 in all, ``1 / (i (i + 1))`` for the i-th, which holds however they depend on
    each other: the sum only grows, and its mean is at most 1, so by Markov it ever reaches 20 by chance in at most one
    of 20 series.
    """

    evidence: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    counted: tuple[str, ...] = Field(default=(), strict=False)
    """SHA-256 of each night's trials, so that none counts twice."""

    baseline: str = ""
    """SHA-256 of the trials of the baseline of the last night."""

    earlier: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """What the nights against other baselines showed before."""

    added: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """The weighted sum over the nights against this one, where it is a saved one."""

    against: Annotated[int, Field(ge=0)] = 0
    """How many those are."""

    def after(self, night: str, e_value: float, *, baseline: str = "", saved: bool = False) -> "Nights":
        """Return the evidence with one more night; the same where that night was counted already.

        Args:
            night: SHA-256 of the night's trials.
            e_value: what it shows.
            baseline: SHA-256 of the trials that it was compared with. Where they were run for one night they count for
                one; a second comparison with them adds nothing.
            saved: they were saved to be compared with again and again.
        """
        if night in self.counted:
            return self
        again = bool(baseline) and baseline == self.baseline
        found = self if again else Nights(evidence=self.evidence, baseline=baseline, earlier=self.evidence)
        evidence, added, against = found.evidence, found.added, found.against
        if saved:
            against += 1
            added = min(added + e_value / (against * (against + 1)), _MOST)
            evidence = min(found.earlier * added, _MOST)
        elif not again:
            evidence = min(evidence * e_value, _MOST)
        return Nights(
            evidence=evidence,
            counted=(*self.counted, night),
            baseline=baseline,
            earlier=found.earlier,
            added=added,
            against=against,
        )


def read_nights(path: Path) -> Nights:
    """Return what a file holds; no evidence where there is none yet.

    Raises:
        DocumentError: the file cannot be read.
    """
    return read_document(Nights, path, DocumentError) if path.exists() else Nights()


def write_nights(path: Path, nights: Nights) -> None:
    """Write it back.

    Raises:
        DocumentError: the file cannot be written.
    """
    try:
        path.write_text(nights.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DocumentError(str(path), "", f"cannot be written: {error.strerror}") from error
