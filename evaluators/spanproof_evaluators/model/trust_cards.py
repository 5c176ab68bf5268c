"""Trust cards: what came of trying a suite's own checks, before an agent's number is believed (B15-B18)."""

from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import Field

from spanproof_evaluators.errors import TrustCardError
from spanproof_evaluators.model.canonical import digest
from spanproof_evaluators.model.documents import read_document
from spanproof_evaluators.model.verifications import Verdict
from spanproof_evaluators.model.written import Texts, Written

Tampering: TypeAlias = Literal["seen", "harmless", "unseen"]
"""``seen``: reported as such; ``harmless``: nothing came of it; ``unseen``: the checks passed, and they should not."""


class TaskTrust(Written):
    """What came of one task's checks. ``None`` is: not tried, and ``untried`` says why."""

    task: str
    null: Verdict | None = None
    """The word on an agent that does nothing. ``verified``: the task is vacuous."""

    dump: Verdict | None = None
    """The word on an agent that changes nothing and answers with all that it can see."""

    reference: Verdict | None = None
    """The word on the reference solution."""

    killed: int = Field(default=0, ge=0)
    mutants: int = Field(default=0, ge=0)
    """Altered end states of the reference solution that the checks had a word on, and how many they failed."""

    survivors: Texts = ()
    """The alterations that the checks passed, in words."""

    impossible: Verdict | None = None
    """The word on the reference solution by checks that ask for what nobody can have done: never ``verified``."""

    tampering: Tampering | None = None
    tampered: str = ""
    """What the tampering agent was seen to change, or what it got through with."""

    untried: dict[str, str] = Field(default={})
    """Why a trial was not made or has no word, by its name."""

    @property
    def vacuous(self) -> bool:
        """Whether doing nothing passes."""
        return self.null == "verified"

    @property
    def problems(self) -> tuple[str, ...]:
        """What makes the task's verdicts doubtful, in words; the gravest first."""
        found = []
        if self.vacuous:
            found.append("vacuous: an agent that does nothing passes")
        if self.dump == "verified" and not self.vacuous:
            found.append("an agent that prints all it can see passes")
        if self.reference == "failed":
            found.append("the reference solution fails")
        if self.impossible == "verified":
            found.append("checks that nobody can meet pass")
        if self.tampering == "unseen":
            found.append("tampering passes")
        if self.survivors:
            found.append(f"{len(self.survivors)} of {self.mutants} altered end states pass: {self.survivors[0]}")
        return tuple(found)

    @property
    def grave(self) -> bool:
        """Whether a verdict on this task can be wrong, or is known to be."""
        return bool(self.problems) and not (len(self.problems) == 1 and bool(self.survivors))


class TrustCard(Written):
    """A suite's trust card."""

    suite: str
    suite_hash: str
    made_at: str
    """ISO 8601, UTC."""

    isolation: str
    """How agents are shut in where it was made."""

    isolation_says: str = ""
    tasks: tuple[TaskTrust, ...] = Field(strict=False)

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The tasks that doing nothing passes."""
        return tuple(one.task for one in self.tasks if one.vacuous)

    @property
    def killed(self) -> int:
        """Mutants of all tasks that were noticed."""
        return sum(one.killed for one in self.tasks)

    @property
    def mutants(self) -> int:
        """Mutants of all tasks on which there was a word."""
        return sum(one.mutants for one in self.tasks)

    def task(self, task_id: str) -> TaskTrust | None:
        """Return what is known of a task."""
        return next((one for one in self.tasks if one.task == task_id), None)


FOLDER: Final = ".spanproof-trust"


def folder_of(address: str) -> Path:
    """Return the folder of trust cards that belongs to a store: beside it; of a server's, in the working folder."""
    if address.startswith("chdb://"):
        store = Path(address.removeprefix("chdb://")).expanduser()
        return store.with_name(f"{store.name}-trust") if store.name else Path(FOLDER)
    return Path(FOLDER)


def path_of(folder: Path, suite: str) -> Path:
    """Return the file of a suite's card."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in suite)[:80]
    return folder / f"{plain}-{digest(suite)[:8]}.json"


def read_card(folder: Path, suite: str) -> TrustCard | None:
    """Return a suite's card, ``None`` where none was made.

    Raises:
        TrustCardError: the file is no card.
    """
    path = path_of(folder, suite)
    return read_document(TrustCard, path, TrustCardError) if path.is_file() else None


def save_card(folder: Path, card: TrustCard) -> Path:
    """Write a card and return its file; one of the same suite before it goes.

    Raises:
        TrustCardError: the file cannot be written.
    """
    path = path_of(folder, card.suite)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise TrustCardError(str(path), "", f"cannot be written: {error.strerror}") from error
    return path
