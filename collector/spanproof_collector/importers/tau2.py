"""tau2-bench simulations: agent and simulated user, both with tools of their own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from spanproof_collector.importers._chat import Open, arguments
from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._declared import with_declared
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import (
    dollars,
    fingerprint,
    ident,
    moment,
    number,
    obj,
    objects,
    openai_usage,
    text,
    truth,
    whole,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Inference, Labels, Said, Session, Termination, Turn, Verdict
from spanproof_collector.importers._tau2_tasks import Defined, definition, definitions_in, task_of
from spanproof_collector.model.values import Json

_SIMULATIONS: Final = "simulations"
_KEYS: Final = frozenset({"task_id", "messages", "termination_reason"})
_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400

_ENDS: Final[dict[str, Termination]] = {
    "user_stop": "completed",
    "agent_stop": "completed",
    "max_steps": "budget_exhausted",
    "too_many_errors": "budget_exhausted",
    "timeout": "budget_exhausted",
    "user_error": "infrastructure",
    "infrastructure_error": "infrastructure",
    "unexpected_error": "infrastructure",
}
"""How the orchestrator names the end of a simulation. An error of the agent's own is no end of these kinds."""


@dataclass(frozen=True)
class Tau2:
    """Results of tau2-bench with all simulations of a run, or one simulation."""

    name: str = "tau2"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the simulations of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        if found.first.keys() >= _KEYS or found.within(_SIMULATIONS).keys() >= _KEYS:
            known = () if file.folder is None else file.folder.learned(definitions_in)
            return sessions(file, partial(_sessions, known), (_SIMULATIONS,))
        return None


def _sessions(known: tuple[Defined, ...], document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not record.keys() >= _KEYS:
        lacking = "no simulation of tau2-bench: task_id, messages or termination_reason is missing"
        yield Damage(reason=lacking, line=document.line)
        return
    info = obj(document.outer.get("info"))
    agent = obj(info.get("agent_info"))
    checked = obj(record.get("reward_info"))
    tasks = objects(document.outer.get("tasks"))
    beside = [found for task in tasks if (found := definition(task)) is not None]
    recorded = ident(record.get("task_id"))
    task_id, defined = task_of(recorded, checked, beside or known)
    domain = text(obj(info.get("environment_info")).get("domain_name")) or defined
    turns = tuple(with_declared(_turns(objects(record.get("messages"))), _kinds(checked)))
    reason = text(record.get("termination_reason"))
    billed = any(isinstance(turn, Inference) and turn.cost is not None for turn in turns)
    facts: dict[str, str | int | float | bool | None] = {
        "termination": reason,
        "seed": whole(record.get("seed")),
        "user_cost_usd": number(record.get("user_cost")),
        "recorded_task_id": recorded if recorded != task_id else None,
    }
    yield Session(
        identity=(ident(record.get("id")) or fingerprint(record),),
        session_id=ident(record.get("id")),
        agent_name=text(agent.get("implementation")),
        model=text(agent.get("llm")),
        labels=Labels(task_id=task_id, attempt=whole(record.get("trial")), suite=domain, facts=facts),
        turns=turns,
        task=_only([task for task in tasks if ident(task.get("id")) == task_id]),
        termination=_ENDS.get(reason or ""),
        verdicts=tuple(_verdicts(checked, reason)),
        cost=None if billed else dollars(record.get("agent_cost")),
        started_at=moment(record.get("start_time")),
        ended_at=moment(record.get("end_time")),
    )


def _only(tasks: list[dict[str, Json]]) -> Json:
    return tasks[0] if len(tasks) == 1 else None


def _kinds(checked: dict[str, Json]) -> dict[str, Json]:
    """Return the kinds of the tools that the checked actions name, as newer simulations record them."""
    return {
        str(obj(each.get("action")).get("name")): each.get("tool_type")
        for each in objects(checked.get("action_checks"))
    }


def _turns(messages: list[dict[str, Json]]) -> Iterator[Turn]:
    """Yield the turns. An answer goes to the call of the message before it, told apart by who asked."""
    waiting: Inference | Said | None = None
    asked: dict[str, Open] = {}

    def flush() -> Iterator[Turn]:
        if isinstance(waiting, Inference):
            yield replace(waiting, calls=tuple(asked["agent"].calls))
        elif waiting is not None:
            yield waiting
        yield from asked["user"].calls if waiting is not None else ()

    for message in messages:
        role = message.get("role")
        if role == "tool":
            for answer in objects(message.get("tool_messages")) or [message]:
                _answer(asked, answer)
            continue
        yield from flush()
        asked = {"agent": Open(), "user": Open()}
        for item in objects(message.get("tool_calls")):
            by_user = (text(item.get("requestor")) or role) == "user"
            asked["user" if by_user else "agent"].calls.append(_call(item, message, by_user=by_user))
        waiting = _inference(message) if role == "assistant" else _said(message)
    yield from flush()


def _answer(asked: dict[str, Open], answer: dict[str, Json]) -> None:
    by = "user" if answer.get("requestor") == "user" else "agent"
    value, at = plain_result(answer.get("content")), moment(answer.get("timestamp"))
    failed = truth(answer.get("error"))

    def answered(call: Call) -> Call:
        if failed:
            return replace(call, error=value if isinstance(value, str) and value else "error", answered_at=at)
        return replace(call, result=value, answered_at=at)

    if by in asked:
        asked[by].answer(ident(answer.get("id")), answered)


def _call(item: dict[str, Json], message: dict[str, Json], *, by_user: bool) -> Call:
    return Call(
        name=text(item.get("name")) or "",
        call_id=ident(item.get("id")),
        arguments=arguments(item.get("arguments")),
        requestor="user" if by_user else "agent",
        at=moment(message.get("timestamp")),
    )


def _inference(message: dict[str, Json]) -> Inference:
    raw = obj(message.get("raw_data"))
    at, took = moment(message.get("timestamp")), number(message.get("generation_time_seconds")) or 0.0
    said = content(message.get("content"))
    choices = objects(raw.get("choices"))
    return Inference(
        text=said.text or None,
        parts=said.parts,
        model=text(raw.get("model")),
        response_id=text(raw.get("id")),
        finish_reason=text(choices[0].get("finish_reason")) if choices else None,
        usage=openai_usage(raw.get("usage") or message.get("usage")),
        cost=dollars(message.get("cost")),
        started_at=at - int(took * _SECOND) if at is not None and 0 < took < _DAY else None,
        at=at,
    )


def _said(message: dict[str, Json]) -> Said:
    said = content(message.get("content"))
    return Said(
        role="system" if message.get("role") == "system" else "user",
        text=said.text,
        parts=said.parts,
        at=moment(message.get("timestamp")),
    )


def _verdicts(checked: dict[str, Json], reason: str | None) -> Iterator[Verdict]:
    """A simulation that was broken off gets the reward 0 unchecked, which is no verdict."""
    ran = any(checked.get(key) for key in ("reward_breakdown", "reward_basis", "db_check", "action_checks"))
    if not ran or _ENDS.get(reason or "") in ("budget_exhausted", "infrastructure"):
        return
    yield Verdict(name="reward", score=number(checked.get("reward")))
    for key, value in obj(checked.get("reward_breakdown")).items():
        yield Verdict(name=f"reward.{key}", score=number(value))
