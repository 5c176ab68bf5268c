"""What an environment is: fresh worlds, into which the recorded calls of a trial go again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, Self, runtime_checkable

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool gave back: a result, or the words of its failure."""

    result: Plain = None
    error: str | None = None
    comparable: bool = True
    """False where a world does not know what the tool says: then nothing is held against the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A recorded call."""

    name: str
    arguments: Plain
    by: Literal["agent", "user"] = "agent"
    executed: Literal["yes", "no", "unknown"] = "yes"
    effect_class: str = "unclassified"
    recorded: Answer | None = None
    """What it gave back then; ``None`` where that was not recorded."""

    changed: bool | None = None
    """Whether somebody recorded that it changed the world; ``None`` where nobody did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words of the agent to its user."""

    text: str
    with_calls: bool = False
    """It asked for tools in the same breath."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded trial as an environment sees it: its task, its calls, and what the agent said."""

    source: str = ""
    """Where it was recorded: ``otlp``, or ``import:<format>``."""

    suite: str | None = None
    task_id: str | None = None
    task: Plain = None
    """The definition of the task, where it was recorded."""

    calls: tuple[Call, ...] = ()
    """Calls of the agent and of the user, in the order in which they ran."""

    words: tuple[Words, ...] = ()
    words_whole: bool = True
    """False where not all that the agent said was recorded: a word that is not found may have been said."""

    answer: str | None = None
    """The submitted answer, the last words that asked for nothing."""

    labels: dict[str, str] = field(default_factory=dict)
    """Further facts that the recording states."""

    judged: dict[str, bool] = field(default_factory=dict)
    """Criteria that only a model can judge, as the recording's own judge did, by name in upper case."""

    def untouched(self) -> Self:
        """Return the recording of an agent that did nothing and said nothing: how the state before is judged."""
        return replace(self, calls=(), words=(), words_whole=True, answer=None, labels={}, judged={})


class World(Protocol):
    """One world, used once."""

    def apply(self, call: Call) -> Answer:
        """Make a call, and return what it gives back. A tool that fails gives an error; it does not raise.

        Raises:
            Exception: the world itself is broken; there is no verdict then.
        """

    def state(self) -> Plain:
        """Return all that calls can change, as JSON."""

    def close(self) -> None:
        """Let go of what the world holds: files, connections."""


@runtime_checkable
class Judging(Protocol):
    """A world that knows what its task asks for."""

    def verify(self, done: Recording) -> Sequence[Check]:
        """Return the task's criteria on the world as it is now, and on what was said and called; change nothing."""


@runtime_checkable
class TellingMore(Protocol):
    """A world that knows more of its end than whether the task was done."""

    def beside(self, done: Recording) -> dict[str, Plain]:
        """Return facts by name, kept beside the verdict."""


@runtime_checkable
class Snapshotting(Protocol):
    """A world whose state the checks of a suite can read."""

    def end_state(self) -> EndState:
        """Return tables or files."""


class Environment(Protocol):
    """Makes worlds of one kind."""

    @property
    def name(self) -> str:
        """How it is asked for, and the beginning of what the outcome names as its verifier."""

    @property
    def version(self) -> str:
        """The version of what the worlds are made of: of a package, or the hash of a configuration."""

    @property
    def simulated(self) -> bool:
        """True where nothing that a call does outlives its world: no call in it is irreversible."""

    @property
    def irreversible(self) -> frozenset[str]:
        """Tools that are never called unless allowed by name, whatever their class."""

    def fits(self, recording: Recording) -> bool:
        """Return whether trials of this kind are recorded from worlds of this one; nothing is loaded for it."""

    def start(self, recording: Recording) -> World:
        """Return a fresh world in the start state of the recording's task.

        Raises:
            NoWorldError: there is none for this recording, and why.
            MissingExtraError: a package that it is made of is not installed.
        """
