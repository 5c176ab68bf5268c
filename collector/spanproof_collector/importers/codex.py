"""Codex CLI's rollout files: JSON lines of ``{timestamp, type, payload}``, in older versions the bare payloads.

One answer of the model is written item by item: its reasoning, its words and its calls up to the first result, the next
words of the user or the next count of tokens are one inference. Tokens stand in events of their own.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from spanproof_collector.importers._chat import arguments
from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._fields import (
    ident,
    integer,
    listed,
    loosely,
    moment,
    obj,
    objects,
    text,
    truth,
    whole,
)
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage, Skipped
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._session import (
    Call,
    Inference,
    Labels,
    Refused,
    Said,
    Session,
    Termination,
    Turn,
    digest_of,
)
from spanproof_collector.model.readings import ABSENT, Absent, Usage
from spanproof_collector.model.values import Json

Item = dict[str, Json]

_ENVELOPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"}
)
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_BARE: Final = _CALLS | _OUTPUTS | {"message", "reasoning"}

_WRAPPED: Final = re.compile(r"\s*(<(environment_context|user_instructions|INSTRUCTIONS|turn_aborted)\b|# AGENTS\.md)")
"""What Codex itself says under the role of the user."""

_REJECTED: Final = re.compile(r"\s*(exec command |patch |\S+ )?(was )?(rejected|denied) by (the )?user", re.I)
_BROKEN_OFF: Final = re.compile(r"\s*(Wall time: \S+ seconds\s+)?aborted( by (the )?user\b|\s*$)", re.I)
"""What stands for the output of a call that was running when the user interrupted the turn."""

_EXIT_CODE: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)\s*$", re.MULTILINE)
"""How outputs without JSON tell of the exit code, before the output itself."""


@dataclass(frozen=True)
class Codex:
    """Rollouts of Codex CLI."""

    name: str = "codex"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the session of the file, or ``None`` where Codex wrote no line of it.

        Raises:
            OSError: the file cannot be read.
        """
        if not any(_is_enveloped(item) for item in file.opening) and not _is_old(file.opening):
            return None
        return _session(file)


def _is_enveloped(item: Item) -> bool:
    return item.get("type") in _ENVELOPES and isinstance(item.get("payload"), dict)


def _is_old(opening: Sequence[Item]) -> bool:
    """True for the bare items of the first versions, which begin with a line of the session itself."""
    first = opening[0] if opening else {}
    head = "id" in first and "timestamp" in first and "type" not in first
    return head and any(item.get("type") in _BARE or item.get("record_type") == "state" for item in opening[1:])


def _session(file: ReadableFile) -> Iterator[Found]:
    reading = _Reading()
    cut = False
    for number, value in file.json_lines():
        cut = isinstance(value, Damage)
        if isinstance(value, Damage):
            yield value
        elif isinstance(value, dict):
            reading.line(value, first=number == 1)
    yield from (Skipped(what=what) for what in reading.passed_over)
    yield reading.session(cut=cut)
    if file.damage is not None:
        yield Damage(reason=file.damage)


@dataclass(slots=True)
class _Answer:
    """An answer of the model while its items are brought together."""

    turn: Inference
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    parts: list[Item] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def finished(self) -> Inference:
        return replace(
            self.turn,
            text="\n".join(self.texts) or None,
            reasoning="\n".join(self.thoughts) or None,
            parts=tuple(self.parts),
            calls=tuple(self.calls),
        )


class _Reading:
    """Reads the lines of one rollout."""

    def __init__(self) -> None:
        self.passed_over: list[str] = []
        self._meta: Item = {}
        self._model: str | None = None
        self._turns: list[Turn | _Answer] = []
        self._answer: _Answer | None = None
        self._last_answer: _Answer | None = None
        self._open: list[tuple[_Answer, int]] = []
        self._total: Usage | None = None
        self._seen_total: Json = None
        self._ending: Termination | None = None
        self._digest: list[str] = []
        self._first_at: int | None = None
        self._last_at: int | None = None

    def session(self, *, cut: bool) -> Session:
        """Return the whole session."""
        session_id = text(self._meta.get("id")) or text(self._meta.get("session_id"))
        git = obj(self._meta.get("git"))
        turns = tuple(turn.finished() if isinstance(turn, _Answer) else turn for turn in self._turns)
        return Session(
            identity=(session_id or digest_of("\n".join(self._digest).encode("utf-8", "replace")),),
            session_id=session_id,
            agent_name="codex",
            agent_version=text(self._meta.get("cli_version")),
            model=self._model if not any(isinstance(turn, Inference) for turn in turns) else None,
            provider=text(self._meta.get("model_provider")),
            labels=Labels(
                facts={
                    "cwd": text(self._meta.get("cwd")),
                    "git_branch": text(git.get("branch")),
                    "git_commit": text(git.get("commit_hash")),
                    "forked_from": text(self._meta.get("forked_from_id")),
                }
            ),
            turns=turns,
            termination=self._ending,
            cut=cut,
            usage=self._total,
            started_at=moment(self._meta.get("timestamp")) or self._first_at,
            ended_at=self._last_at,
        )

    def line(self, line: Item, *, first: bool) -> None:
        """Take the next line."""
        self._digest.append(json.dumps(line, sort_keys=True))
        at = moment(line.get("timestamp"))
        self._first_at = self._first_at or at
        self._last_at = at or self._last_at
        if not _is_enveloped(line):
            if first and "type" not in line:
                self._meta = line
            elif line.get("type") in _BARE:
                self._item(line, at)
            return
        payload = obj(line["payload"])
        match line["type"]:
            case "session_meta":
                if not self._meta:  # a forked session repeats the line of the one that it goes on from
                    self._meta = {"timestamp": line.get("timestamp"), **payload}
            case "turn_context":
                self._model = text(payload.get("model")) or self._model
            case "compacted":
                self._say("environment", text(payload.get("message")) or "", at, kind="compaction")
            case "response_item":
                self._item(payload, at)
            case "event_msg":
                self._event(payload, at)

    # --- events ---

    def _event(self, event: Item, at: int | None) -> None:
        match event.get("type"):
            case "token_count":
                self._tokens(obj(event.get("info")))
            case "turn_aborted":
                self._answer = None
                self._ending = "cancelled"
            case "error" | "stream_error":
                if event["type"] == "error":
                    self._close()
                    self._turns.append(Inference(error=text(event.get("message")) or "error", model=self._model, at=at))
            case _:
                pass  # what these say stands in the items too

    def _tokens(self, info: Item) -> None:
        total = info.get("total_token_usage")
        last = obj(info.get("last_token_usage"))
        if not info or (total is not None and total == self._seen_total):
            return  # repeated with news of rate limits
        self._seen_total = total
        self._model = text(info.get("model")) or self._model
        used = _usage(last) if last else Usage()
        if total is not None:
            self._total = _usage(obj(total))
        elif last:
            self._total = _sum(self._total, used)
        answer = self._answer or self._last_answer
        if answer is not None:
            answer.turn = replace(answer.turn, usage=_sum(answer.turn.usage, used))
        self._close()

    # --- items ---

    def _item(self, item: Item, at: int | None) -> None:
        kind = item.get("type") or ("message" if "role" in item else None)
        self._ending = None
        if kind == "message" and item.get("role") != "assistant":
            self._message(item, at)
        elif kind == "message":
            said = content(item.get("content"))
            answer = self._answering(at)
            answer.texts += [said.text] if said.text else []
            answer.parts += said.parts
        elif kind == "reasoning":
            thoughts = [text(part.get("text")) for part in objects(item.get("summary")) + objects(item.get("content"))]
            self._answering(at).thoughts += [thought for thought in thoughts if thought]
        elif kind in _CALLS:
            answer = self._answering(at)
            call = replace(_call(item), at=at)
            if call.refused is None and isinstance(call.result, Absent):
                self._open.append((answer, len(answer.calls)))
            answer.calls.append(call)
        elif kind in _OUTPUTS:
            self._output(item, at)
        elif isinstance(kind, str):
            self.passed_over.append(kind)

    def _message(self, item: Item, at: int | None) -> None:
        said = content(item.get("content"))
        role = item.get("role")
        if role in ("system", "developer"):
            self._say("system", said.text, at, parts=said.parts)
        else:
            by_user = role == "user" and not _WRAPPED.match(said.text)
            self._say("user" if by_user else "environment", said.text, at, parts=said.parts)
            if said.text.lstrip().startswith("<turn_aborted"):
                self._ending = "cancelled"

    def _say(self, role: str, words: str, at: int | None, *, kind: str = "text", parts: tuple[Item, ...] = ()) -> None:
        self._close()
        if words or parts:
            self._turns.append(Said(role=role, text=words, kind=kind, parts=parts, at=at))  # type: ignore[arg-type]

    def _output(self, item: Item, at: int | None) -> None:
        call_id = ident(item.get("call_id"))
        self._close()
        place = next((n for n, (answer, i) in enumerate(self._open) if answer.calls[i].call_id == call_id), None)
        if place is None:
            part: Item = {"type": "tool_call_response", "id": call_id, "response": item.get("output")}
            self._turns.append(Said(role="environment", parts=(part,), at=at))
            return
        answer, number = self._open.pop(place)
        answer.calls[number] = replace(_answered(answer.calls[number], item.get("output")), answered_at=at)

    def _answering(self, at: int | None) -> _Answer:
        if self._answer is None:
            self._answer = self._last_answer = _Answer(Inference(model=self._model, at=at))
            self._turns.append(self._answer)
        return self._answer

    def _close(self) -> None:
        self._answer = None


def _call(item: Item) -> Call:
    call_id = ident(item.get("call_id")) or ident(item.get("id"))
    match item.get("type"):
        case "local_shell_call":
            action = obj(item.get("action"))
            given: Json = {key: value for key, value in action.items() if key != "type"}
            return Call(name="local_shell", call_id=call_id, arguments=given)
        case "web_search_call":
            succeeded = item.get("status") == "completed"
            action = obj(item.get("action"))
            return Call(name="web_search", call_id=call_id, arguments=action or ABSENT, succeeded=succeeded)
        case "custom_tool_call":
            given = item.get("input")
            return Call(
                name=text(item.get("name")) or "", call_id=call_id, arguments=ABSENT if given is None else given
            )
        case _:
            name = text(item.get("name")) or str(item.get("type"))
            namespace = text(item.get("namespace"))
            return Call(
                name=f"{namespace}{name}" if namespace and not name.startswith(namespace) else name,
                call_id=call_id,
                arguments=arguments(item.get("arguments")),
            )


def _answered(call: Call, output: Json) -> Call:
    """Return the call with its output: words, or JSON of the output and its exit code, or content and success."""
    opened = loosely(output)
    told = opened if isinstance(opened, dict) else {}
    value = told.get("output", told.get("content", output)) if told else output
    value = plain_result(value) if isinstance(value, list) else value
    said = value if isinstance(value, str) else content(listed(value)).text
    if _REJECTED.match(said):
        return replace(call, refused=Refused(by="user", reason=said))
    exit_code = integer(obj(told.get("metadata")).get("exit_code"))
    if not told and (found := _EXIT_CODE.search(said.partition("\nOutput:")[0])) is not None:
        exit_code = int(found[1])
    if not told and _BROKEN_OFF.match(said):
        return replace(call, error=said)
    if truth(told.get("success")) is False or exit_code:
        return replace(call, error=said or f"exit code {exit_code}", exit_code=exit_code)
    return replace(call, result=value, exit_code=exit_code)


def _usage(counts: Item) -> Usage:
    """OpenAI's counts: cached tokens are part of the input, reasoning is part of the output."""
    return Usage(
        input_tokens=whole(counts.get("input_tokens")),
        output_tokens=whole(counts.get("output_tokens")),
        cache_read_tokens=whole(counts.get("cached_input_tokens")),
        reasoning_tokens=whole(counts.get("reasoning_output_tokens")),
    )


def _sum(one: Usage | None, other: Usage) -> Usage:
    if one is None:
        return other
    counts: dict[str, int | None] = {}
    for name in Usage.__struct_fields__:
        values = [value for usage in (one, other) if (value := getattr(usage, name)) is not None]
        counts[name] = sum(values) if values else None
    return Usage(**counts)
