"""Certificates: everything that the numbers of a report are a function of, as hashes, and the numbers themselves."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from spanproof_evaluators.errors import CertificateError
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.written import Texts, Written


class Asked(Written):
    """Which trials, and how they are cut and set side by side."""

    since: int | None = None
    until: int | None = None
    projects: Texts = ()
    sessions: Texts = ()
    trials: Texts = ()
    tasks: Texts = ()
    suites: Texts = ()
    sources: Texts = ()
    variants: Texts = ()
    agents: Texts = ()
    models: Texts = ()
    tools: Texts = ()
    labels: tuple[tuple[str, str], ...] = Field(default=(), strict=False)
    texts: Texts = ()
    unit: Literal["session", "trace"] = "session"
    by: Literal["variant", "agent", "model", "suite", "source"] = "variant"


class CertifiedTrial(Written):
    """One trial: the hash of its evidence, and of each word on it."""

    project: str
    key: str
    evidence: str
    words: dict[str, str]


class Certificate(Written):
    """A report's certificate, as ``spanproof report --certificate FILE`` writes it."""

    certificate: str
    """SHA-256 over trials, words on them, suite, gates and versions."""

    asked: Asked
    suite: str | None
    suite_hash: str | None
    gates: str
    """SHA-256 of the release gates."""

    tools: str
    """SHA-256 of the catalogue of tools; that of an empty one where none was given."""

    versions: dict[str, str]
    """Of rules, verifiers, measures, the price catalogue, and the seed of what is drawn."""

    trials: tuple[CertifiedTrial, ...] = Field(strict=False)
    numbers: dict[str, dict[str, dict[str, Any]]]
    """Measures by variant and name, as the machine-readable interface spells them."""

    decisions: dict[str, dict[str, Any]]
    """What the gates said of each variant."""


def read_certificate(path: Path) -> Certificate:
    """Return the certificate that a file holds.

    Raises:
        CertificateError: the file cannot be read, or is none.
    """
    return read_document(Certificate, path, CertificateError)
