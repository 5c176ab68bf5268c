"""What to install so that every call is seen: told once, when the process ends."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spanproof_instrumentation import built_in, instrumentors
from spanproof_instrumentation.barrier import LOGGER


@dataclass(frozen=True, kw_only=True)
class _Library:
    module: str
    instrumentor: str
    package: str
    covered_by: tuple[str, ...] = ()
    """Modules that, when they are seen, show the calls made through this library too."""


_GENAI: Final = "opentelemetry-instrumentation-genai-"
_OPENINFERENCE: Final = "openinference-instrumentation-"

_LIBRARIES: Final = (
    _Library(
        module="openai", instrumentor="openai", package=f"{_GENAI}openai", covered_by=("pydantic_ai", "langchain_core")
    ),
    _Library(
        module="anthropic",
        instrumentor="anthropic",
        package=f"{_GENAI}anthropic",
        covered_by=("pydantic_ai", "langchain_core"),
    ),
    _Library(module="agents.tracing", instrumentor="openai_agents", package=f"{_GENAI}openai-agents"),
    _Library(module="langchain_core", instrumentor="langchain", package=f"{_GENAI}langchain"),
    _Library(module="llama_index.core", instrumentor="llama_index", package=f"{_GENAI}llama-index"),
    _Library(module="dspy", instrumentor="dspy", package=f"{_GENAI}dspy"),
    _Library(module="agno", instrumentor="agno", package=f"{_GENAI}agno"),
    _Library(module="smolagents", instrumentor="smolagents", package=f"{_GENAI}smolagents"),
    _Library(module="google.genai", instrumentor="google_genai", package=f"{_OPENINFERENCE}google-genai"),
    _Library(module="crewai", instrumentor="crewai", package=f"{_OPENINFERENCE}crewai"),
    _Library(module="litellm", instrumentor="litellm", package=f"{_OPENINFERENCE}litellm"),
    _Library(module="mistralai", instrumentor="mistralai", package=f"{_OPENINFERENCE}mistralai"),
    _Library(module="groq", instrumentor="groq", package=f"{_OPENINFERENCE}groq"),
)


def suggest() -> None:
    """Tell which packages would show more, if any."""
    missing = missing_packages(sys.modules)
    if missing:
        LOGGER.warning("spanproof: some calls are not seen; to see them: pip install %s", " ".join(missing))


def missing_packages(modules: Iterable[str]) -> list[str]:
    """Return the packages that would instrument libraries which are imported and not seen."""
    imported = set(modules)
    known = instrumentors.known_names()
    if "*" in known:
        return []
    seen = {each.module for each in _LIBRARIES if each.instrumentor in known} | built_in.switched
    if instrumentors.anthropic_traces_itself():
        seen.add("anthropic")
    return [
        each.package
        for each in _LIBRARIES
        if each.module in imported and each.module not in seen and not seen & imported & set(each.covered_by)
    ]
