"""Importers of recorded sessions. A new format is one file here and one line in ``IMPORTERS``."""

from collections.abc import Sequence
from pathlib import Path

from spanproof_collector.importers._found import Damage, Recorded, Skipped
from spanproof_collector.importers._importer import Found, Importer
from spanproof_collector.importers.agentdojo import AgentDojo
from spanproof_collector.importers.atif import Atif
from spanproof_collector.importers.claude_code import ClaudeCode
from spanproof_collector.importers.codex import Codex
from spanproof_collector.importers.gemini_cli import GeminiCli
from spanproof_collector.importers.importing import (
    Imported,
    NoSuchFileError,
    Progress,
    Rejection,
    UnknownFormatError,
    import_with,
)
from spanproof_collector.importers.inspect_ai import InspectAi
from spanproof_collector.importers.intercode import InterCode
from spanproof_collector.importers.medagentbench import MedAgentBench
from spanproof_collector.importers.mini_swe_agent import MiniSweAgent
from spanproof_collector.importers.openai_messages import OpenAIMessages
from spanproof_collector.importers.openclaw import OpenClaw
from spanproof_collector.importers.openhands import OpenHands
from spanproof_collector.importers.otel_spans import OtelSpans
from spanproof_collector.importers.otlp import Otlp
from spanproof_collector.importers.parquet import Parquet
from spanproof_collector.importers.pi import Pi
from spanproof_collector.importers.swe_agent import SweAgent
from spanproof_collector.importers.tau2 import Tau2
from spanproof_collector.importers.tau_bench import TauBench
from spanproof_collector.importers.who_and_when import WhoAndWhen
from spanproof_collector.store import Store

__all__ = [
    "IMPORTERS",
    "Damage",
    "Found",
    "Imported",
    "Importer",
    "NoSuchFileError",
    "Otlp",
    "Parquet",
    "Progress",
    "Recorded",
    "Rejection",
    "Skipped",
    "UnknownFormatError",
    "import_paths",
]

IMPORTERS: tuple[Importer, ...] = (
    Otlp(),
    Parquet(),
    AgentDojo(),
    InspectAi(),
    SweAgent(),
    OpenHands(),
    MiniSweAgent(),
    Atif(),
    InterCode(),
    MedAgentBench(),
    Tau2(),
    TauBench(),
    WhoAndWhen(),
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    Pi(),
    OpenClaw(),
    OtelSpans(),
    # any object with messages: asked last
    OpenAIMessages(),
)


def import_paths(
    store: Store, paths: Sequence[Path], format_name: str | None = None, progress: Progress | None = None
) -> Imported:
    """Store what the files and folders hold, of any known format or of the one that is named; durable on return.

    Raises:
        NoSuchFileError: one of the paths does not exist; nothing was imported.
        UnknownFormatError: ``format_name`` is no format's name.
        StoreError: the store failed; what was stored before stays, and importing again stores nothing twice.
    """
    return import_with(store, paths, IMPORTERS, format_name, progress)
