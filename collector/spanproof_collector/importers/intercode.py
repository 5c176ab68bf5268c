"""InterCode results: an agent, or a human, against a shell, a database or a capture-the-flag box, turn by turn."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import fingerprint, ident, listed, number, obj, objects, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import (
    Call,
    Claim,
    Inference,
    Labels,
    Refused,
    Said,
    Session,
    Termination,
    Turn,
    Verdict,
)
from spanproof_collector.model.readings import ABSENT, Absent, Recorded
from spanproof_collector.model.values import Json

_EXECUTE: Final = re.compile(r"\s*execute\[(.*)\]\s*", re.DOTALL)
_SUBMIT: Final = re.compile(r"\s*submit\b", re.IGNORECASE)
_FEW_SHOT: Final = re.compile(r"_fs_(\d+)\b")
# What the environment answers to words in which it finds no command: nothing ran.
_NO_COMMAND: Final = re.compile(
    r"(Error executing query: )?Your last `execute` action did not contain|Format your \w+ command as follows"
)
_FAILED: Final = "Error executing query"
_ENVIRONMENT: Final = "ic_"


class _Step(NamedTuple):
    action: str
    thought: str | None
    observation: Recorded
    valid: Json


@dataclass(frozen=True)
class InterCode:
    """Result files: one entry, an array of them, or entries by their number; in the agents' schema or the humans'."""

    name: str = "intercode"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the entries of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        if _fits(found.first):
            return sessions(file, _sessions)
        numbered = all(key.isdigit() for key in found.first)
        if found.first and numbered and _fits(found.within(next(iter(found.first)))):
            return sessions(file, _sessions, mapping=True)
        return None


def _fits(record: dict[str, Json]) -> bool:
    played = "turn_history" in record or ("trajectory" in record and ("query_idx" in record or "gold" in record))
    return played and "query" in record


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        yield Damage(reason="no entry of InterCode: query or turns are missing", line=document.line)
        return
    by_human = "turn_history" not in record
    environment = text(record.get("environment"))
    steps = list(_by_human(record) if by_human else _by_agent(record))
    task = ident(record.get("task_id", record.get("query_idx", document.key)))
    facts: dict[str, str | int | float | bool | None] = {
        "dataset": text(record.get("dataset")),
        "query": text(record.get("query")),
        "hardness": text(record.get("hardness")),
        "actor": "human" if by_human else None,
    }
    yield Session(
        identity=(fingerprint(record),),
        labels=Labels(task_id=_task_id(environment, record.get("dataset"), task), suite=environment, facts=facts),
        turns=tuple(_turns(record, steps, _tool(environment), by_human=by_human)),
        termination=None if by_human else _termination(record, steps),
        verdicts=tuple(_verdicts(record)),
    )


def _task_id(environment: str | None, dataset: Json, task: str | None) -> str | None:
    """Number tasks within their data set: environment, number of the few-shot file (0 for the only one), index."""
    if task is None:
        return None
    part = _FEW_SHOT.search(dataset) if isinstance(dataset, str) else None
    return "/".join(((environment or "").removeprefix(_ENVIRONMENT), part[1] if part else "0", task))


def _tool(environment: str | None) -> str:
    """The shell of the capture-the-flag box is bash too."""
    plain = (environment or "").removeprefix(_ENVIRONMENT)
    return {"": "execute", "ctf": "bash"}.get(plain, plain)


def _by_agent(record: dict[str, Json]) -> Iterator[_Step]:
    history = obj(record.get("turn_history"))
    thoughts, observations = listed(history.get("thoughts")), listed(history.get("observations"))
    valid = listed(history.get("valid_action"))
    for place, action in enumerate(listed(history.get("actions"))):
        yield _Step(
            action if isinstance(action, str) else "",
            text(thoughts[place]) if place < len(thoughts) else None,
            observations[place] if place < len(observations) else ABSENT,
            valid[place] if place < len(valid) else None,
        )


def _by_human(record: dict[str, Json]) -> Iterator[_Step]:
    for entry in objects(record.get("trajectory")):
        action = entry.get("action")
        yield _Step(action if isinstance(action, str) else "", None, entry.get("observation", ABSENT), None)


def _turns(record: dict[str, Json], steps: list[_Step], tool: str, *, by_human: bool) -> Iterator[Turn]:
    yield Said(role="user", text=text(record.get("query")) or "")
    asks_by_name = not by_human and any(_EXECUTE.fullmatch(step.action) for step in steps)
    for step in steps:
        if _SUBMIT.match(step.action) and not by_human:
            yield Inference(text=step.action, reasoning=step.thought)
            yield Claim(state="success", text=step.action.strip())
            if not isinstance(step.observation, Absent):
                yield Said(role="environment", text=_words(step.observation))
            continue
        yield Inference(reasoning=step.thought, calls=(_call(step, tool, asks_by_name=asks_by_name),))


def _call(step: _Step, tool: str, *, asks_by_name: bool) -> Call:
    asked = _EXECUTE.fullmatch(step.action) if asks_by_name else None
    given: dict[str, Json] = {"query" if tool == "sql" else "command": asked[1] if asked else step.action}
    answer = step.observation
    if isinstance(answer, str) and _NO_COMMAND.match(answer):
        return Call(name=tool, arguments=given, refused=Refused(by="environment", reason=answer))
    if isinstance(answer, str) and (answer.startswith(_FAILED) or (step.valid is False and answer)):
        return Call(name=tool, arguments=given, error=answer)
    return Call(name=tool, arguments=given, result=answer)


def _words(value: Recorded) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _termination(record: dict[str, Json], steps: list[_Step]) -> Termination | None:
    """An entry ends with the reward 1, with a submission, or when its turns are used up."""
    summary = obj(record.get("summary"))
    taken, most = whole(summary.get("turns_taken")), whole(summary.get("turns_max"))
    rewards = [number(reward) for reward in listed(obj(record.get("turn_history")).get("rewards"))]
    submitted = bool(steps) and _SUBMIT.match(steps[-1].action) is not None
    if submitted or (rewards and rewards[-1] == 1):
        return "completed"
    used_up = taken is not None and most is not None and taken >= most
    return "budget_exhausted" if used_up else None


def _verdicts(record: dict[str, Json]) -> Iterator[Verdict]:
    if "turn_history" not in record:
        if number(record.get("reward")) is not None:
            yield Verdict(name="reward", score=number(record["reward"]))
        return
    rewards = listed(obj(record["turn_history"]).get("rewards"))
    if rewards:
        yield Verdict(name="reward", score=number(rewards[-1]))
    most = number(obj(record.get("summary")).get("max_reward"))
    if most is not None:
        yield Verdict(name="max_reward", score=most)
