"""What the nights before have shown: a product of e-values, kept in a file between runs."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from spanproof_evaluators.errors import DocumentError
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Written


class Nights(Written):
    """The evidence so far. E-values of independent nights multiply (Vovk and Wang, 2021)."""

    evidence: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    counted: tuple[str, ...] = Field(default=(), strict=False)
    """SHA-256 of each night's trials, so that none counts twice."""

    def after(self, night: str, e_value: float) -> "Nights":
        """Return the evidence with one more night; the same where that night was counted already."""
        if night in self.counted:
            return self
        return Nights(evidence=min(self.evidence * e_value, 1e300), counted=(*self.counted, night))


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
