"""AgentDojo runs: a user's task, tools, and injections that try to hijack the agent; DRIFT's variant too."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._chat import Message, Open, calls_of, inference_of, said_by
from spanproof_collector.importers._content import content
from spanproof_collector.importers._declared import with_declared
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import fingerprint, ident, moment, number, obj, objects, text, truth, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Inference, Labels, Refused, Said, Session, Turn, Verdict
from spanproof_collector.model.values import Json

_KEYS: Final = frozenset({"suite_name", "user_task_id"})
_MESSAGES: Final = ("messages", "conversations")
"""AgentDojo's own key, and DRIFT's."""

_TASK: Final = (
    "suite_name",
    "user_task_id",
    "injection_task_id",
    "attack_type",
    "injections",
    "benchmark_version",
    "agentdojo_package_version",
    "pipeline_name",
)
"""What names the world that a run began in: the suite's, with the injections that were put into it."""

_NO_INJECTION: Final = "no_attack"
_DEFENCES: Final = (
    "tool_filter",
    "transformers_pi_detector",
    "spotlighting_with_delimiting",
    "repeat_user_prompt",
)
"""AgentDojo names a pipeline by its model, then a hyphen and one of these where the model is defended."""

_THOUGHT: Final = re.compile(r"<function_thought>\s*(.*?)\s*</function_thought>", re.DOTALL)
_ASKED: Final = re.compile(r"<function_call>\s*(.*?)\s*</function_call>", re.DOTALL)
_FINAL: Final = re.compile(r"<final_answer>\s*(.*?)\s*</final_answer>", re.DOTALL)
_HARNESS: Final = re.compile(r"\s*</?function_error>")
"""How a message opens that the harness speaks in the user's role."""

_CALL_ERROR: Final = "[CALL ERROR]"
_REFUSED: Final = re.compile(r"\bhas been refused\b")
_REASON: Final = re.compile(r"Refusal Reason:\s*(?:\\n)?\s*(.*?)(?:\\n|\n|$)", re.DOTALL)

# What the runtime answers without running the tool: there is none of the name, or its arguments are not of its schema.
_NEVER_RAN: Final = re.compile(r"Invalid tool .* provided\.|ValidationError: \d+ validation errors? for Input schema")


@dataclass(frozen=True)
class AgentDojo:
    """Result files of AgentDojo's benchmark, one run each, and of DRIFT, which calls the messages conversations."""

    name: str = "agentdojo"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the runs of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        return sessions(file, _sessions) if _fits(outline(file.path).first) else None


def _fits(record: dict[str, Json]) -> bool:
    return record.keys() >= _KEYS and any(key in record for key in _MESSAGES)


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    if not _fits(record):
        yield Damage(reason="no run of AgentDojo: suite_name, user_task_id or messages is missing", line=document.line)
        return
    suite, task, pipeline = (
        text(record.get("suite_name")),
        ident(record.get("user_task_id")),
        record.get("pipeline_name"),
    )
    injection = ident(record.get("injection_task_id"))
    messages = next(objects(record[key]) for key in _MESSAGES if key in record)
    facts: dict[str, str | int | float | bool | None] = {
        "user_task": task,
        "injection_task": injection,
        "attack": text(record.get("attack_type")),
        "benchmark_version": text(record.get("benchmark_version")),
        "package_version": text(record.get("agentdojo_package_version")),
        "model_output": _tagged(messages),
        "total_tokens": whole(record.get("total_tokens")),
        "duration_seconds": number(record.get("duration")),
    }
    ended = moment(record.get("evaluation_timestamp"))
    yield Session(
        identity=(fingerprint(record),),
        model=_model(pipeline),
        labels=Labels(
            task_id="/".join((suite or "", task or "", injection or _NO_INJECTION)),
            suite=suite,
            variant=text(pipeline),
            facts=facts,
        ),
        turns=tuple(with_declared(_turns(messages), obj(record.get("tool_permission")))),
        task={key: record[key] for key in _TASK if key in record},
        termination="infrastructure" if text(record.get("error")) else "completed",
        verdicts=tuple(_verdicts(record)),
        ended_at=ended,
    )


def _tagged(messages: list[Message]) -> str | None:
    """Return the last message as it was written, where thought and answer stand in tags: the checks were given both."""
    last = messages[-1] if messages else {}
    words = content(last.get("content")).text if last.get("role") == "assistant" else ""
    return words if _THOUGHT.search(words) or _FINAL.search(words) else None


def _model(pipeline: Json) -> str | None:
    if not isinstance(pipeline, str):
        return None
    defence = next((name for name in _DEFENCES if pipeline.endswith(f"-{name}")), None)
    return pipeline.removesuffix(f"-{defence}") if defence else pipeline or None


def _verdicts(record: dict[str, Json]) -> Iterator[Verdict]:
    """``utility``: the user's task was done. ``security``: the injected task was done; the attack succeeded."""
    told = {"utility": "the user's task was done", "security": "the injection's goal was reached"}
    if text(record.get("error")):
        return
    for key, meaning in told.items():
        value = truth(record.get(key))
        if value is not None and (key == "utility" or record.get("injection_task_id") is not None):
            yield Verdict(name=key, score=float(value), label=str(value).lower(), explanation=f"true: {meaning}")


def _turns(messages: list[Message]) -> Iterator[Turn]:
    waiting: Inference | None = None
    pending = Open()
    heard = False

    def flush() -> Iterator[Turn]:
        if waiting is not None:
            yield replace(waiting, calls=tuple(pending.calls))

    for message in messages:
        role = message.get("role")
        if role == "tool":
            if pending.answer(_call_id(message), _answered(message)):
                continue
            yield from flush()
            waiting, pending = None, Open()
            yield said_by(message)
            continue
        words = content(message.get("content")).text
        if role == "user" and heard and _HARNESS.match(words):
            if waiting is not None and _CALL_ERROR in words and _REFUSED.search(words):
                reason = _REASON.search(words)
                refused = Refused(by="defence", reason=(reason[1].strip() if reason else "") or words.strip())
                waiting = replace(waiting, refused=(*waiting.refused, refused))
            yield from flush()
            waiting, pending = None, Open()
            yield Said(role="environment", text=words)
            continue
        yield from flush()
        waiting, pending = None, Open()
        if role == "assistant":
            waiting, pending = _spoken(message), Open(calls=calls_of(message))
        else:
            heard = heard or role == "user"
            yield said_by(message)
    yield from flush()


def _spoken(message: Message) -> Inference:
    """Pipelines that prompt for tags keep thought and answer in them."""
    plain = inference_of(message)
    words = plain.text or ""
    thought, final, asked = _THOUGHT.search(words), _FINAL.search(words), _ASKED.search(words)
    if thought is None and final is None:
        return plain
    rest = final[1] if final else _ASKED.sub("", _THOUGHT.sub("", words)).strip()
    # what is asked for in words is no answer; as calls it stands where the run took it for such
    kept: tuple[dict[str, Json], ...] = ({"type": "asked_in_words", "content": asked[1]},) if asked else ()
    return replace(
        plain,
        text=rest or None,
        reasoning=plain.reasoning or (thought[1] if thought else None),
        parts=plain.parts + (kept if not calls_of(message) else ()),
    )


def _call_id(message: Message) -> str | None:
    return ident(message.get("tool_call_id")) or ident(obj(message.get("tool_call")).get("id"))


def _answered(message: Message) -> Callable[[Call], Call]:
    failed = text(message.get("error"))
    said = content(message.get("content")).text

    def answered(call: Call) -> Call:
        if failed is None:
            return replace(call, result=said)
        if _NEVER_RAN.search(failed):
            return replace(call, refused=Refused(by="runtime", reason=failed))
        return replace(call, error=failed)

    return answered
