"""tau-bench results: an agent, a simulated user and a database, one conversation a trial."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanproof_collector.importers._chat import turns_of
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import fingerprint, ident, number, obj, objects, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Labels, Session, Termination, Turn, Verdict
from spanproof_collector.importers._text_actions import react_turns
from spanproof_collector.model.values import Json

_KEYS: Final = frozenset({"traj", "reward", "task_id"})


@dataclass(frozen=True)
class TauBench:
    """Result files of tau-bench's ``run.py``: an array of trials, or one trial a file or a line."""

    name: str = "tau_bench"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the trials of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        if not outline(file.path).first.keys() >= _KEYS:
            return None
        return sessions(file, _sessions)


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not record.keys() >= _KEYS:
        yield Damage(reason="no trial of tau-bench: traj, reward or task_id is missing", line=document.line)
        return
    info = obj(record.get("info"))
    messages = objects(record.get("traj"))
    facts: dict[str, str | int | float | bool | None] = {
        "user_id": text(obj(info.get("task")).get("user_id")),
        "user_cost_usd": number(info.get("user_cost")),
    }
    yield Session(
        identity=(fingerprint(record),),
        labels=Labels(task_id=ident(record.get("task_id")), attempt=whole(record.get("trial")), facts=facts),
        turns=tuple(_turns(messages)),
        task=obj(info.get("task")) or None,
        termination=_termination(info),
        verdicts=tuple(_verdicts(record, info)),
    )


def _turns(messages: list[dict[str, Json]]) -> Iterator[Turn]:
    """Agents that call functions leave calls; those of the strategies act and react write them into their words."""
    if any(message.get("tool_calls") or message.get("function_call") for message in messages):
        return turns_of(messages)
    return react_turns(messages)


def _termination(info: dict[str, Json]) -> Termination | None:
    if info.get("error"):
        return "infrastructure"
    if obj(info.get("reward_info")):
        return "completed"
    # the environment says the reward once the conversation is over: without it the steps ran out
    return "budget_exhausted" if "reward_info" in info else None


def _verdicts(record: dict[str, Json], info: dict[str, Json]) -> Iterator[Verdict]:
    """The reward is 0.0 also where nobody checked: it is a verdict only beside what it was made of."""
    checked = obj(info.get("reward_info"))
    if not checked:
        return
    yield Verdict(name="reward", score=number(record.get("reward")))
    parts = obj(checked.get("info"))
    for key in ("r_actions", "r_outputs"):
        if key in parts:
            yield Verdict(name=f"reward.{key}", score=_score(parts[key]))


def _score(value: Json) -> float | None:
    return float(value) if isinstance(value, bool) else number(value)
