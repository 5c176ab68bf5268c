"""What a recording declares of its tools: that they read, or that they write."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spanproof_collector.importers._session import Call, Inference, Turn
from spanproof_collector.model.values import Json
from spanproof_collector.trials.effects import infer_class


def declared(call: Call, kinds: Mapping[str, Json]) -> Call:
    """Return the call with the class that its recording declares.

    A declared write may be more: a name that tells of a deletion still does, and is not made less.

    Args:
        call: as recorded.
        kinds: the kind of each tool by its name; ``read`` and ``write``, in any case, are understood.
    """
    kind = kinds.get(call.name)
    told = kind.lower() if isinstance(kind, str) else ""
    if call.effect_class is not None or told not in ("read", "write"):
        return call
    if told == "read":
        return replace(call, effect_class="read")
    return call if infer_class(call.name, call.arguments) == "destructive" else replace(call, effect_class="write")


def with_declared(turns: Iterable[Turn], kinds: Mapping[str, Json]) -> Iterable[Turn]:
    """Yield the turns with the classes that the recording declares."""
    for turn in turns:
        if isinstance(turn, Inference) and turn.calls:
            yield replace(turn, calls=tuple(declared(call, kinds) for call in turn.calls))
        else:
            yield declared(turn, kinds) if isinstance(turn, Call) else turn
