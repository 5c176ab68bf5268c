"""Who&When: failed runs of several agents, each with a human's word on who failed when. Two schemas."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import fingerprint, ident, number, obj, objects, text, truth, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Inference, Labels, Refused, Said, Session, Turn, Verdict
from spanproof_collector.model.values import Json

_CORRECT: Final = ("is_correct", "is_corrected")
"""The key in the generated part of the collection, and in the hand-crafted one."""

_TERMINAL: Final = re.compile(r"computer_?terminal", re.IGNORECASE)
"""The participant that runs code and is no model."""

_NOTHING_TO_RUN: Final = re.compile(r"There is no code\b")
_FENCED: Final = re.compile(r"```(\w*)[ \t]*\n(.*?)```", re.DOTALL)
_ROLE: Final = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<note>.*)\))?")
_FINISHED: Final = "TERMINATE"


_FAILED: Final = re.compile(r"\s*exitcode: (?!0\b)-?\d+[^\n]*", re.IGNORECASE)
"""What the terminal says first of code that failed."""


@dataclass(frozen=True)
class WhoAndWhen:
    """Files of the collection: generated runs, whose entries carry names, and hand-crafted ones, whose roles do."""

    name: str = "who_and_when"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the runs of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        return sessions(file, _sessions) if _fits(outline(file.path).first) else None


def _fits(record: dict[str, Json]) -> bool:
    return "history" in record and "mistake_step" in record and "mistake_agent" in record


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        reason = "no run of Who&When: history, mistake_agent or mistake_step is missing"
        yield Damage(reason=reason, line=document.line)
        return
    history = objects(record.get("history"))
    named = any("name" in entry for entry in history)
    last = text(history[-1].get("content")) or "" if history else ""
    ended = _FINISHED in last or "termination" in str(history[-1].get("role")) if history else False
    facts: dict[str, str | int | float | bool | None] = {
        "question": text(record.get("question")),
        "ground_truth": ident(record.get("ground_truth")),
        "level": ident(record.get("level")),
    }
    yield Session(
        identity=(fingerprint(record),),
        labels=Labels(task_id=ident(record.get("question_ID")), facts=facts),
        turns=tuple(_calls_placed(_by_name(history) if named else _by_role(history))),
        termination="completed" if ended else None,
        verdicts=tuple(_verdicts(record)),
    )


def _by_name(history: list[dict[str, Json]]) -> Iterator[Turn]:
    """The first entry is the task, spoken as by one of the experts."""
    for place, entry in enumerate(history):
        words, name = text(entry.get("content")) or "", text(entry.get("name"))
        if place == 0:
            yield Said(role="user", text=words)
        elif name is not None and _TERMINAL.fullmatch(name):
            yield _run(name, words)
        else:
            yield Inference(text=words or None, agent=name)


def _by_role(history: list[dict[str, Json]]) -> Iterator[Turn]:
    """The role names who speaks, and in brackets whether it is a thought or whom it instructs."""
    for entry in history:
        words, role = text(entry.get("content")) or "", text(entry.get("role")) or ""
        found = _ROLE.fullmatch(role.strip())
        name, note = (found["name"], found["note"] or "") if found else (role, "")
        if name.lower() in ("human", "user"):
            yield Said(role="user", text=words)
        elif _TERMINAL.fullmatch(name):
            yield _run(name, words)
        elif note == "thought":
            yield Inference(reasoning=words or None, agent=name)
        else:
            yield Inference(text=words or None, agent=name)


def _run(name: str, words: str) -> Call:
    if _NOTHING_TO_RUN.match(words):
        return Call(name=name, refused=Refused(by=name, reason=words))
    if (failed := _FAILED.match(words)) is not None:
        return Call(name=name, result=words, error=failed[0].strip())
    return Call(name=name, result=words)


def _calls_placed(turns: Iterator[Turn]) -> Iterator[Turn]:
    """Give each run of the terminal to the entry before it, whose code or words it ran."""
    waiting: Inference | None = None
    words = ""
    for turn in turns:
        if isinstance(turn, Call):
            placed = replace(turn, arguments=_code(words))
            if waiting is None:
                yield placed
            else:
                waiting = replace(waiting, calls=(*waiting.calls, placed))
            continue
        words = turn.text or "" if isinstance(turn, Said | Inference) else ""
        if waiting is not None:
            yield waiting
        waiting = turn if isinstance(turn, Inference) else None
        if waiting is None:
            yield turn
    if waiting is not None:
        yield waiting


def _code(words: str) -> dict[str, Json]:
    found: list[Json] = [block[2] for block in _FENCED.finditer(words)]
    if not found:
        return {"instruction": words} if words else {}
    return {"code": found[0] if len(found) == 1 else found}


def _verdicts(record: dict[str, Json]) -> Iterator[Verdict]:
    for key in _CORRECT:
        value = truth(record.get(key))
        if value is not None:
            yield Verdict(name=key, score=float(value), label=str(value).lower())
    step = whole(record.get("mistake_step"))
    yield Verdict(
        name="mistake",
        score=None if step is None else number(step),
        label=text(record.get("mistake_agent")),
        explanation=text(record.get("mistake_reason")),
    )
