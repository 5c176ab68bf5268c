"""MedAgentBench cases: an agent writes GET, POST and FINISH as words, the harness runs them against a FHIR server."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import (
    fingerprint,
    ident,
    loosely,
    number,
    obj,
    objects,
    text,
    truth,
    whole,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import (
    Call,
    Inference,
    Labels,
    Refused,
    Said,
    Session,
    Termination,
    Turn,
    Verdict,
)
from spanproof_collector.model.values import Json

_ACTION: Final = re.compile(r"\s*(?P<verb>GET|POST)\s+(?P<url>\S+)\s*(?P<payload>.*)", re.DOTALL)
_FINISH: Final = re.compile(r"\s*FINISH\(")
_INVALID: Final = re.compile(r"Invalid (POST|GET) request|Invalid action")
_FAILED: Final = re.compile(r"Error in sending the (GET|POST) request")
_UNNAMED: Final = re.compile(r"\(.*\)")
"""A model that the harness left to the platform is written in brackets."""

_ENDS: Final[dict[str, Termination]] = {
    "completed": "completed",
    "infra_fail": "infrastructure",
    "task limit reached": "budget_exhausted",
    "agent context limit": "budget_exhausted",
    "max_rounds": "budget_exhausted",
    "task error": "infrastructure",
}


@dataclass(frozen=True)
class MedAgentBench:
    """A case file with turns as Whissle's harness writes it, or the lines of AgentBench's ``runs.jsonl``."""

    name: str = "medagentbench"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the cases of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        if _fits(found.first):
            return sessions(file, _sessions)
        return sessions(file, _runs) if _is_run(found.first) else None


def _fits(record: dict[str, Json]) -> bool:
    turns = record.get("turns")
    # no turn is left of a case whose first request failed
    shaped = isinstance(turns, list) and (not turns or "agent_reply" in obj(turns[0]))
    return shaped and "task_id" in record and "instruction" in record


def _is_run(record: dict[str, Json]) -> bool:
    opening = objects(obj(record.get("output")).get("history"))
    words = opening[0].get("content") if opening else None
    return "index" in record and isinstance(words, str) and "FHIR" in words


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        yield Damage(reason="no case of MedAgentBench: task_id, instruction or turns are missing", line=document.line)
        return
    told = obj(obj(record.get("diagnostics")).get("provenance"))
    model = text(told.get("model"))
    failed = truth(record.get("infra_fail"))
    status = text(record.get("status"))
    facts: dict[str, str | int | float | bool | None] = {
        "category": text(record.get("category")),
        "run": text(told.get("run_dir")),
        "agent": text(told.get("agent_id")),
        "harness_attempt": whole(record.get("attempt")),
        "termination": status,
        "infra_reason": text(record.get("infra_reason")),
    }
    yield Session(
        identity=(fingerprint(record),),
        model=None if model is None or _UNNAMED.fullmatch(model) else model,
        labels=Labels(task_id=ident(record.get("task_id")), suite=text(told.get("benchmark")), facts=facts),
        turns=(
            Said(role="user", text=text(record.get("prompt")) or text(record.get("instruction")) or ""),
            *(_turn(turn) for turn in objects(record.get("turns"))),
        ),
        termination="infrastructure" if failed else _ENDS.get(status or ""),
        verdicts=() if failed else tuple(_verdicts(record)),
    )


def _turn(turn: dict[str, Json]) -> Inference:
    kind = text(turn.get("action_kind"))
    reply = text(turn.get("agent_reply"))
    if kind not in ("get", "post"):
        return Inference(text=reply)
    given: dict[str, Json] = {"url": turn.get("url")}
    if turn.get("payload") is not None:
        given["payload"] = turn["payload"]
    return Inference(text=reply, calls=(_answered(_call(kind.upper(), given), turn.get("observation")),))


def _call(verb: str, given: dict[str, Json]) -> Call:
    """The protocol has one verb that reads and one that writes."""
    return Call(name=verb, arguments=given, effect_class="read" if verb == "GET" else "write")


def _answered(call: Call, answer: Json) -> Call:
    if isinstance(answer, str) and _INVALID.match(answer):
        return replace(call, refused=Refused(by="harness", reason=answer))
    if isinstance(answer, str) and _FAILED.match(answer):
        return replace(call, error=answer)
    return call if answer is None else replace(call, result=answer)


def _verdicts(record: dict[str, Json]) -> Iterator[Verdict]:
    """The grade is one word, what the harness read back from the server another: a write can be there and be wrong."""
    grade = obj(record.get("grade"))
    correct = truth(grade.get("correct"))
    if correct is not None:
        yield Verdict(
            name="correct", score=float(correct), label=str(correct).lower(), explanation=text(grade.get("reason"))
        )
    told = obj(record.get("integrity"))
    for key in ("attempted_writes", "accepted_by_ehr", "verified_writes", "nonconformant_writes"):
        if correct is not None and number(told.get(key)) is not None:
            yield Verdict(name=key, score=number(told[key]))


def _runs(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _is_run(record):
        yield Damage(reason="no run of MedAgentBench: index or output is missing", line=document.line)
        return
    output = obj(record.get("output"))
    status = text(output.get("status"))
    case = obj(record.get("info")) or output
    yield Session(
        identity=(fingerprint(record),),
        labels=Labels(task_id=ident(case.get("id")) or ident(record.get("index")), facts={"termination": status}),
        turns=tuple(_dialogue(objects(output.get("history")))),
        termination="infrastructure" if record.get("error") else _ENDS.get(status or ""),
    )


def _dialogue(history: list[dict[str, Json]]) -> Iterator[Turn]:
    """The reply's words are the action, and the next message of the user's side is what it gave."""
    waiting: Inference | None = None
    for message in history:
        words = text(message.get("content")) or ""
        if message.get("role") in ("agent", "assistant"):
            if waiting is not None:
                yield waiting
            waiting = _written(words)
        elif waiting is not None and waiting.calls:
            yield replace(waiting, calls=tuple(_answered(call, words) for call in waiting.calls))
            waiting = None
        else:
            if waiting is not None:
                yield waiting
            waiting = None
            yield Said(role="user", text=words)
    if waiting is not None:
        yield waiting


def _written(words: str) -> Inference:
    plain = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", words)
    found = _ACTION.fullmatch(plain)
    if found is None or _FINISH.match(plain):
        return Inference(text=words or None)
    given: dict[str, Json] = {"url": found["url"]}
    if found["payload"].strip():
        given["payload"] = loosely(found["payload"].strip())
    return Inference(text=words, calls=(_call(found["verb"], given),))
