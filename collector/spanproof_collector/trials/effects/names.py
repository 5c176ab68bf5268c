"""What the name of a tool suggests of it: rules for names, and for the command that a tool was given."""

import re
from typing import Final

from spanproof_collector.model.readings import ABSENT, Recorded
from spanproof_collector.model.trials import EffectClass
from spanproof_collector.trials.commands import of_shell, of_sql


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The first verb of a name decides, or the strongest where verbs are joined (find_and_replace, get_or_create). Words
# that are as often nouns (order, message) decide only where no verb follows.
_READS: Final = _words(
    """get list search find lookup look read fetch query show view check describe count inspect browse retrieve verify
    validate calculate compute compare summarize think plan load peek status exists ping select grep glob ls cat head
    tail stat diff explain estimate preview"""
)
_WRITES: Final = _words(
    """create update issue send put write add insert upsert buy pay refund charge transfer cancel modify edit change
    submit schedule reschedule reserve move rename upload publish approve reject close reopen assign invite reply
    forward register enroll activate deactivate enable disable apply append replace save notify commit push merge
    deploy start stop restart make subscribe unsubscribe set post share copy patch store"""
)
_NOUNS_TOO: Final = _words("order book place return exchange record log message email mail checkout")
_DESTRUCTIVE: Final = _words("delete remove drop purge destroy erase wipe truncate kill terminate uninstall rm")
# These do whatever they are told to.
_OPAQUE: Final = _words("execute exec run eval invoke sql shell bash")
_RUNNING: Final = _OPAQUE | _words("terminal console command cmd")
_JOINING: Final = _words("and or then")
_HANDOFF: Final = re.compile(r"^(handoff|hand_off|handover)(_|$)")
_TRANSFER: Final = re.compile(r"^(transfer|delegate|escalate|route|connect)_(back_)?to_")
_TO_SOMEBODY: Final = re.compile(
    r"(agents?|humans?|person|team|department|specialist|representative|support|operator|supervisor|assistant)$"
)
_ABOUT_A_HANDOFF: Final = _words("reason message summary input context task instructions")
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_COMMAND_KEYS: Final = ("command", "cmd", "commands", "script")


def words_of(name: str) -> list[str]:
    """Return the words of a tool's name, lower case; a server's or namespace's prefix (``mcp__shop__``) is left out."""
    plain = name.strip()
    plain = re.split(r"__|[./:]", plain)[-1] or plain
    return [match.group().lower() for match in _WORD.finditer(plain)]


def infer_class(name: str, arguments: Recorded = ABSENT) -> EffectClass:
    """Return the effect class that a tool's name suggests; ``unclassified`` where it suggests none.

    ``transfer_to_x`` is a handoff where x is somebody, or where nothing but a reason is handed over.
    """
    lower = name.strip().lower()
    bare = isinstance(arguments, dict) and not arguments.keys() - _ABOUT_A_HANDOFF
    if _HANDOFF.search(lower) or (_TRANSFER.search(lower) and (bare or _TO_SOMEBODY.search(lower))):
        return "handoff"
    words = words_of(name)
    told = _class_of_command(arguments, opaque=not _OPAQUE.isdisjoint(words))
    if told is not None or _OPAQUE.intersection(words):
        return told or "unclassified"
    verbs = [found for word in words if (found := _verb(word)) is not None]
    if not verbs:
        return "write" if _NOUNS_TOO.intersection(words) else "unclassified"
    if not _JOINING.intersection(words):
        return verbs[0]
    strength: tuple[EffectClass, ...] = ("read", "write", "destructive")
    return max(verbs, key=strength.index)


def runs_commands(name: str, arguments: Recorded) -> bool:
    """Return whether a tool runs the command that it is given: a shell, a terminal, an interpreter."""
    given = isinstance(arguments, dict) and not arguments.keys().isdisjoint(_COMMAND_KEYS)
    return given or not _RUNNING.isdisjoint(words_of(name))


def _class_of_command(arguments: Recorded, *, opaque: bool) -> EffectClass | None:
    """The class of the command that a tool was given; ``None`` where it was given none.

    A tool that runs whatever it is told changes what its command changes. One word is the command of an editor: view.
    """
    if not isinstance(arguments, dict):
        return None
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else value
        if not words or not isinstance(words, str | list):
            continue
        bare = isinstance(words, str) and words.replace("_", "").isalpha() and infer_class(words) != "unclassified"
        if opaque or bare or key in ("command", "cmd"):
            return of_shell(words, infer_class)
    statement = next((arguments[key] for key in ("sql", "query", "statement") if key in arguments), None)
    return of_sql(statement) if opaque and isinstance(statement, str) else None


def _verb(word: str) -> EffectClass | None:
    if word in _DESTRUCTIVE:
        return "destructive"
    if word in _WRITES:
        return "write"
    return "read" if word in _READS else None
