"""The OpenTelemetry instrumentors that are installed: which ones are used, each when its library is imported.

Loading one imports the library that it instruments, so it waits for the agent to do that first: an agent, or a small
helper process, that never uses a library does not pay for it, and what the agent sets before its imports still counts.
"""

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import Final

from spanproof_instrumentation.barrier import LOGGER, attempt, attempt_as
from spanproof_instrumentation.import_hooks import when_imported

GROUP: Final = "opentelemetry_instrumentor"
DISABLED: Final = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"

# Where a library is imported under another name than its instrumentor's, or in parts.
_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "openai_agents": ("agents",),
    "langchain": ("langchain_core",),
    "llama_index": ("llama_index.core",),
    "google_genai": ("google.genai",),
    "google_generativeai": ("google.genai", "google.generativeai"),
    "bedrock": ("botocore",),
    "mcp": ("mcp",),
    "threading": ("threading",),
}
_REQUIRED: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_FOR_INSTRUMENTS: Final = re.compile(r"extra\s*==\s*['\"]instruments(?:[-_]any)?['\"]")
_ANTHROPIC_SWITCH: Final = "ANTHROPIC_OPEN_TELEMETRY"

used: dict[str, object] = {}
"""Instrumentors that we put to work, by the name that they are registered under."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One registered instrumentor."""

    name: str
    distribution: str
    point: EntryPoint

    @property
    def rank(self) -> tuple[int, str]:
        """Return the order of preference among those of one name: the current conventions first."""
        if self.point.value.startswith("opentelemetry.instrumentation.genai."):
            kind = 0
        elif self.distribution == f"opentelemetry-instrumentation-{self.point.name.replace('_', '-')}-v2":
            kind = 1
        elif self.distribution.startswith("openinference-"):
            kind = 3
        else:
            kind = 2
        return kind, self.distribution


def candidates() -> dict[str, list[Candidate]]:
    """Return every registered instrumentor that the user did not disable, by name, the preferred one first."""
    disabled = {_normal(name) for name in os.environ.get(DISABLED, "").split(",") if name.strip()}
    found: dict[str, list[Candidate]] = {}
    if "*" in disabled:
        return found
    for point in entry_points(group=GROUP):
        owner = point.dist.name if point.dist is not None else ""
        name = _normal(point.name)
        # A distribution's name says which of two that are registered under one name is meant.
        if name not in disabled and _normal(owner) not in disabled:
            found.setdefault(name, []).append(Candidate(name=name, distribution=owner, point=point))
    for same in found.values():
        same.sort(key=lambda candidate: candidate.rank)
    return found


def instrument_installed() -> bool:
    """Put every installed instrumentor to work, one a library; return whether one of them takes care of threads."""
    from spanproof_instrumentation.built_in import switch_on

    attempt(None, switch_on)
    found = attempt({}, candidates)
    for name, same in found.items():
        attempt(None, _prepare, name, same)
    if found:
        when_imported("opentelemetry.instrumentation.instrumentor", partial(_give_way, found))
    return "threading" in used


def _prepare(name: str, same: list[Candidate]) -> None:
    chosen = same[0]
    work = partial(_use, name, same)
    modules = modules_of(chosen)
    if modules is None:
        return  # its library is not installed
    if not modules:
        work()
    first = [work]

    def once() -> None:
        if first:
            first.pop()()

    for module in modules:
        when_imported(module, once)


def modules_of(candidate: Candidate) -> tuple[str, ...] | None:
    """Return the modules whose import puts an instrumentor to work, ``None`` where there is nothing to instrument.

    Empty: nobody can say, and it is put to work at once.
    """
    owner = candidate.point.dist
    wanted = _instrumented(owner) if owner is not None else []
    present = [found for found in map(_distribution, wanted) if found is not None]
    if wanted and not present:
        return None
    if candidate.name in _MODULES:
        return _MODULES[candidate.name]
    modules = tuple(sorted({module for found in present for module in _top_level(found)}))
    if modules:
        return modules
    if candidate.name in sys.stdlib_module_names or importlib.util.find_spec(candidate.name) is not None:
        return (candidate.name,)
    return ()


def _use(name: str, same: list[Candidate]) -> None:
    if name == "anthropic" and anthropic_traces_itself():
        return  # both would tell of every call
    if any(_already(candidate) for candidate in same):
        return  # the agent did it, with the one that it prefers
    chosen = same[0]
    instrumentor = attempt_as(f"the instrumentor {chosen.distribution} is not used", None, _load, chosen.point)
    if instrumentor is not None:
        used[name] = instrumentor


def _load(point: EntryPoint) -> object:
    try:
        instrumentor = point.load()()
    except ImportError as error:
        LOGGER.debug("spanproof: the instrumentor %s is not used: %s", point.value, error)
        return None
    instrumentor.instrument(skip_dep_check=False, raise_exception_on_conflict=True)
    return instrumentor


def known_names() -> set[str]:
    """Return the names of all instrumentors that are installed, and of those that the user does not want."""
    disabled = {_normal(name) for name in os.environ.get(DISABLED, "").split(",") if name.strip()}
    return disabled | {_normal(point.name) for point in entry_points(group=GROUP)}


def anthropic_traces_itself() -> bool:
    """Say whether the Anthropic SDK that is imported makes spans of its own, of tools and agent runs too."""
    if os.environ.get(_ANTHROPIC_SWITCH, "").strip().lower() == "false":
        return False
    return "anthropic" in sys.modules and importlib.util.find_spec("anthropic._tracing") is not None


def _give_way(found: Mapping[str, list[Candidate]]) -> None:
    """Take ours back where the agent puts another instrumentor of the same library to work: its choice goes first."""
    base = sys.modules["opentelemetry.instrumentation.instrumentor"].BaseInstrumentor
    names = {(candidate.point.module, candidate.point.attr): name for name, same in found.items() for candidate in same}
    original: Callable[..., object] = base.instrument

    def instrument(self: object, *args: object, **kwargs: object) -> object:
        kind = type(self)
        name = next((name for (module, attr), name in names.items() if _is(kind, module, attr)), None)
        ours = used.get(name or "")
        if ours is not None and type(ours) is not kind:
            del used[name or ""]
            attempt(None, _uninstrument, ours)
        return original(self, *args, **kwargs)

    base.instrument = instrument


def _is(kind: type, module: str, attr: str) -> bool:
    return kind.__name__ == attr and getattr(sys.modules.get(module), attr, None) is kind


def _uninstrument(instrumentor: object) -> None:
    uninstrument = getattr(instrumentor, "uninstrument", None)
    if callable(uninstrument):
        uninstrument()


def _already(candidate: Candidate) -> bool:
    module = sys.modules.get(candidate.point.module)
    kind = getattr(module, candidate.point.attr, None)
    return bool(getattr(getattr(kind, "_instance", None), "is_instrumented_by_opentelemetry", False))


def _instrumented(owner: Distribution) -> list[str]:
    found = []
    for requirement in owner.requires or []:
        name = _REQUIRED.match(requirement)
        if name is not None and _FOR_INSTRUMENTS.search(requirement):
            found.append(name[1])
    return found


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _top_level(found: Distribution) -> Iterable[str]:
    named = found.read_text("top_level.txt")
    if named:
        return {line.strip() for line in named.splitlines() if line.strip() and not line.startswith("_")}
    paths = [file.parts for file in found.files or [] if file.suffix == ".py"]
    return {parts[0] if len(parts) > 1 else parts[0].removesuffix(".py") for parts in paths if "." not in parts[0]}


def _normal(name: str) -> str:
    return name.strip().lower().replace("-", "_")
