"""Every tool of stored trials, what is said of each and by whom, and what a person is asked to confirm."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from spanproof_collector.model.tool_catalogue import CataloguedClass, CatalogueTool, Lookup, ToolCatalogue
from spanproof_collector.model.trials import EffectClass, ToolCall, Trial
from spanproof_collector.trials import infer_class, key_in, runs_commands, words_of
from spanproof_evaluators.model.seen_tools import SeenTool

_STRENGTH: Final[tuple[EffectClass, ...]] = ("read", "handoff", "write", "destructive")
_GENERIC: Final = frozenset(("of", "for", "by", "the", "a", "to", "in", "id", "all", "details", "info", "status"))


@dataclass(slots=True)
class _Tally:
    calls: int = 0
    trials: set[str] = field(default_factory=set)
    classes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    arguments: set[str] = field(default_factory=set)
    everywhere: set[str] | None = None
    """The names of arguments that every call had."""

    commands: bool = False


def seen_tools(trials: Iterable[Trial], catalogue: ToolCatalogue) -> tuple[SeenTool, ...]:
    """Return the tools that trials called, by name. The trials are read without a catalogue."""
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    for trial in trials:
        for call in (*trial.tool_calls, *trial.user_calls):
            _count(tallies[call.name], call, trial.key)
    classes = {name: _proposal(tally)[0] for name, tally in tallies.items()}
    return tuple(_seen(name, tallies[name], tallies, classes, catalogue) for name in sorted(tallies))


def proposed_catalogue(tools: Iterable[SeenTool], existing: ToolCatalogue) -> ToolCatalogue:
    """Return the catalogue to confirm: what there is stays as it is, what is new is not confirmed."""
    new = [
        CatalogueTool(name=tool.name, effect_class=_catalogued(tool.proposed), confirmed=False, lookups=tool.lookups)
        for tool in tools
        if tool.entry is None and tool.name.strip()
    ]
    return ToolCatalogue(tools=(*existing.tools, *new))


def _catalogued(proposed: EffectClass | None) -> CataloguedClass | None:
    return None if proposed == "unclassified" else proposed


def _count(tally: _Tally, call: ToolCall, trial: str) -> None:
    effect = call.effect
    tally.calls += 1
    tally.trials.add(trial)
    given = set(call.arguments) if isinstance(call.arguments, dict) else set()
    tally.arguments |= given
    if call.arguments_source is not None:
        tally.everywhere = given if tally.everywhere is None else tally.everywhere & given
    tally.commands = tally.commands or runs_commands(call.name, call.arguments)
    if effect.class_source in ("declared", "mcp", "observed"):
        tally.classes[effect.class_source][effect.effect_class] += 1
    tally.classes["inferred"][infer_class(call.name, call.arguments)] += 1


def _proposal(tally: _Tally) -> tuple[EffectClass | None, str]:
    """Return the class to confirm, and why."""
    for source, why in (
        ("observed", "somebody saw it change something"),
        ("declared", "its calls declare it"),
        ("mcp", "its server's hints"),
    ):
        told = tally.classes.get(source)
        if told:
            return _strongest(told), why
    named = [kind for kind in tally.classes["inferred"] if kind != "unclassified"]
    if tally.commands:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.classes["inferred"].items()))
        return None, f"each call is what its command is ({kinds})"
    if len(named) == 1 and len(tally.classes["inferred"]) == 1:
        return named[0], "its name"  # type: ignore[return-value]  # a class, counted by its name
    if named:
        return None, f"its name says different things of different arguments: {', '.join(sorted(named))}"
    return None, "nobody says what it does"


def _strongest(told: Mapping[str, int]) -> EffectClass:
    return max((kind for kind in _STRENGTH if told.get(kind)), key=_STRENGTH.index, default="unclassified")


def _seen(
    name: str,
    tally: _Tally,
    tallies: Mapping[str, _Tally],
    classes: Mapping[str, EffectClass | None],
    catalogue: ToolCatalogue,
) -> SeenTool:
    proposed, why = classes[name], _proposal(tally)[1]
    entry = catalogue.of(name) or catalogue.named(name)
    writes = proposed in ("write", "destructive")
    return SeenTool(
        name=name,
        calls=tally.calls,
        trials=len(tally.trials),
        classes={source: dict(sorted(told.items())) for source, told in sorted(tally.classes.items())},
        proposed=proposed,
        why=why,
        commands=tally.commands,
        conflicts=tuple(_conflicts(tally, entry)),
        entry=entry,
        lookups=tuple(_lookups(name, tally, tallies, classes)) if writes and entry is None else (),
    )


def _conflicts(tally: _Tally, entry: CatalogueTool | None) -> Iterator[str]:
    """Yield where two sources say different things, in words; the one that counts stands first."""
    said: list[tuple[str, set[str]]] = [
        (source, {kind for kind in tally.classes[source] if kind != "unclassified"})
        for source in ("observed", "declared", "mcp")
        if tally.classes.get(source)
    ]
    if entry is not None and entry.confirmed and entry.effect_class is not None:
        said.append(("catalog", {entry.effect_class}))
    if not tally.commands:
        said.append(("inferred", {kind for kind in tally.classes["inferred"] if kind != "unclassified"}))
    said = [(source, kinds) for source, kinds in said if kinds]
    for source, kinds in said[:1]:
        if len(kinds) > 1:
            yield f"{source} says {_or(kinds)}"
    for (first, ours), (source, theirs) in ((said[0], each) for each in said[1:]):
        if ours != theirs:
            yield f"{first} says {_or(ours)}, {source} says {_or(theirs)}"


def _or(kinds: Iterable[str]) -> str:
    return " or ".join(sorted(kinds))


def _lookups(
    name: str, tally: _Tally, tallies: Mapping[str, _Tally], classes: Mapping[str, EffectClass | None]
) -> Iterator[Lookup]:
    """Yield the reads that share a thing with a write, and an argument that every call had: a guess to check."""
    things = _things(name)
    for read, other in sorted(tallies.items()):
        shared = (tally.everywhere or set()) & (other.everywhere or set())
        by = sorted(each for each in shared if key_in({each: "x"}) is None)
        if classes[read] == "read" and by and things & _things(read) and not (other.everywhere or set()) - shared:
            yield Lookup(tool=read, match={each: each for each in by})


def _things(name: str) -> set[str]:
    """Return the words of a name that tell what it is about."""
    words = words_of(name)
    nouns = [word.rstrip("s") for word in words if word not in _GENERIC and infer_class(word) == "unclassified"]
    return set(nouns or [word.rstrip("s") for word in words[-1:]])
