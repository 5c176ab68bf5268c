"""Claude Code's session files: JSON lines, and the single JSON document of sessions on the web.

An answer of the model is written as several lines with one message id: it is one inference, and its tokens count once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from spanproof_collector.importers._claude_lines import (
    Line,
    Thread,
    Threads,
    content_of,
    is_line,
    threads,
    without_clears,
    words,
)
from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._documents import documents
from spanproof_collector.importers._fields import ident, moment, obj, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import (
    Call,
    Inference,
    Labels,
    Refused,
    Run,
    Said,
    Session,
    Turn,
    digest_of,
)
from spanproof_collector.model.readings import ABSENT, Usage
from spanproof_collector.model.values import Json

_INTERRUPTED: Final = "[Request interrupted by user"
_SYNTHETIC: Final = "<synthetic>"
"""The model that Claude Code names where it wrote a message itself."""

_REFUSALS: Final = (
    ("user", re.compile(r"\s*The user doesn't want to (proceed with this tool use|take this action)", re.IGNORECASE)),
    ("permissions", re.compile(r"\s*(Claude requested permissions? .*haven't granted|Permission to use \S+ .*denied)")),
    ("hook", re.compile(r"\s*(\S+ )?(operation |hook )?(error: )?blocked by (a )?\S*hook", re.IGNORECASE)),
)


@dataclass(frozen=True)
class ClaudeCode:
    """Sessions of Claude Code."""

    name: str = "claude_code"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the sessions of the file, or ``None`` where Claude Code wrote no line of it.

        Raises:
            OSError: the file cannot be read.
        """
        if any(map(is_line, file.opening)):
            return _of_lines(file)
        if outline(file.path).within("loglines").get("type") in ("user", "assistant", "system", "summary"):
            return _of_document(file)
        return None


def _of_lines(file: ReadableFile) -> Iterator[Found]:
    lines: list[Line] = []
    cut = False
    for _, value in file.json_lines():
        if isinstance(value, Damage):
            yield value
        elif isinstance(value, dict):
            lines.append(value)
        cut = isinstance(value, Damage)
    yield from _sessions(lines, cut=cut)
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _of_document(file: ReadableFile) -> Iterator[Found]:
    lines: list[Line] = []
    outer: dict[str, Json] = {}
    cut = False
    for read in documents(file, ("loglines",)):
        cut = isinstance(read, Damage)
        if isinstance(read, Damage):
            yield read
        elif read.member is not None and isinstance(read.value, dict):
            lines.append(read.value)
            outer = read.outer
    own = text(outer.get("sessionId")) or text(outer.get("session_id")) or text(outer.get("id"))
    if lines:
        yield from _sessions([{"sessionId": own, **line} if own else line for line in lines], cut=cut)
    if file.damage is not None:
        yield Damage(reason=file.damage)


def _sessions(lines: Sequence[Line], *, cut: bool) -> Iterator[Session]:
    counted: set[str] = set()
    found = list(threads(lines))
    last = found[-1] if found else None
    for session in found:
        yield from _session(session, counted, cut=cut and session is last)


def _session(found: Threads, counted: set[str], *, cut: bool) -> Iterator[Session]:
    identity = found.session_id or digest_of(json.dumps(found.main.lines or found.others[0].lines).encode())
    parts = list(without_clears(found.main))
    reading = _Reading(found.others, counted)
    for number, part in enumerate(parts):
        turns = reading.turns(part)
        if number == len(parts) - 1:
            turns += reading.not_started_here()
        if not turns and number:
            continue
        begins = text(part.lines[0].get("uuid")) or str(number)
        interrupted = _interrupted(turns)
        yield Session(
            identity=(identity,) if number == 0 else (identity, "cleared", begins),
            session_id=found.session_id,
            agent_name="claude-code",
            agent_version=_first(part.lines, "version"),
            labels=Labels(
                facts={
                    "cwd": _first(part.lines, "cwd"),
                    "git_branch": _first(part.lines, "gitBranch"),
                    "title": _first(part.lines, "summary"),
                }
            ),
            turns=tuple(turns),
            termination="cancelled" if interrupted else None,
            cut=cut and number == len(parts) - 1,
        )
    if not parts and found.others:
        turns = reading.not_started_here()
        yield Session(identity=(identity,), session_id=found.session_id, rooted=False, turns=tuple(turns), cut=cut)


def _first(lines: Sequence[Line], key: str) -> str | None:
    return next((value for line in lines if (value := text(line.get(key))) is not None), None)


def _interrupted(turns: Sequence[Turn]) -> bool:
    """True where nothing followed on the user's interruption."""
    last = turns[-1] if turns else None
    return isinstance(last, Said) and last.text.startswith(_INTERRUPTED)


@dataclass(slots=True)
class _Answer:
    """An answer of the model while its lines are brought together."""

    turn: Inference
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    parts: list[dict[str, Json]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    def finished(self, *, counts: bool) -> Inference:
        return replace(
            self.turn,
            text="\n".join(self.texts) or None,
            reasoning="\n".join(self.thoughts) or None,
            parts=tuple(self.parts),
            calls=tuple(self.calls),
            usage=_usage(self.usage) if counts else Usage(),
        )


def _usage(counts: dict[str, int]) -> Usage:
    """Anthropic counts cached tokens beside the input; here the input includes them."""
    fresh = counts.get("input_tokens")
    read, written = counts.get("cache_read_input_tokens"), counts.get("cache_creation_input_tokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


class _Reading:
    """Reads the lines of one session's agents into turns."""

    def __init__(self, others: Sequence[Thread], counted: set[str]) -> None:
        self._waiting = list(others)
        self._counted = counted
        """Message ids whose tokens are counted: a resumed session repeats the lines of the one before."""

    def turns(self, thread: Thread) -> list[Turn]:
        """Return the turns of one agent."""
        found: list[Turn | _Answer] = []
        answers: dict[str, _Answer] = {}
        open_calls: list[tuple[_Answer, int]] = []
        for line in thread.lines:
            match line.get("type"):
                case "assistant":
                    self._assistant(line, found, answers, open_calls)
                case "user":
                    self._user(line, found, open_calls)
                case _:
                    pass
        return [self._finished(turn) if isinstance(turn, _Answer) else turn for turn in found]

    def not_started_here(self) -> list[Turn]:
        """Return the runs of agents that no call of the lines read so far started."""
        runs: list[Turn] = []
        while self._waiting:
            runs.append(self._run(self._waiting.pop(0)))
        return runs

    def _finished(self, answer: _Answer) -> Inference:
        key = answer.turn.response_id
        counts = key is None or key not in self._counted
        if key is not None:
            self._counted.add(key)
        return answer.finished(counts=counts)

    def _run(self, thread: Thread) -> Run:
        first, last = thread.lines[0], thread.lines[-1]
        return Run(
            agent=text(first.get("agentName")),
            turns=tuple(self.turns(thread)),
            at=moment(first.get("timestamp")),
            ended_at=moment(last.get("timestamp")),
            key=thread.agent_id,
        )

    # --- lines ---

    def _assistant(
        self,
        line: Line,
        found: list[Turn | _Answer],
        answers: dict[str, _Answer],
        open_calls: list[tuple[_Answer, int]],
    ) -> None:
        message, at, uuid = obj(line.get("message")), moment(line.get("timestamp")), text(line.get("uuid"))
        if line.get("isApiErrorMessage") is True:
            found.append(Inference(error=words(line) or "API error", at=at, key=uuid))
            return
        if message.get("model") == _SYNTHETIC:
            found.append(Said(role="environment", text=words(line), at=at, key=uuid))
            return
        message_id = text(message.get("id"))
        answer = answers.get(message_id) if message_id else None
        if answer is None:
            turn = Inference(model=text(message.get("model")), response_id=message_id, at=at, key=message_id or uuid)
            answer = _Answer(turn)
            found.append(answer)
            if message_id:
                answers[message_id] = answer
        reason = text(message.get("stop_reason"))
        if reason:
            answer.turn = replace(answer.turn, finish_reason=reason)
        for key, value in obj(message.get("usage")).items():
            count = whole(value)
            if count is not None:
                answer.usage[key] = max(count, answer.usage.get(key, 0))
        for block in content_of(line):
            self._block(block, answer, open_calls, at)

    def _block(self, block: Line, answer: _Answer, open_calls: list[tuple[_Answer, int]], at: int | None) -> None:
        match block.get("type"):
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                call_id = ident(block.get("id"))
                given = block.get("input", ABSENT)
                again = any(call.call_id == call_id and call.arguments == given for call in answer.calls)
                if call_id is not None and again:
                    return  # the same line once more
                open_calls.append((answer, len(answer.calls)))
                answer.calls.append(Call(name=text(block.get("name")) or "", call_id=call_id, arguments=given, at=at))
            case str(kind) if kind.endswith("tool_result"):
                self._result(block, None, open_calls, at)
            case _:
                said = content([block])
                answer.texts += [said.text] if said.text else []
                answer.thoughts += [said.reasoning] if said.reasoning else []
                answer.parts += said.parts

    def _user(self, line: Line, found: list[Turn | _Answer], open_calls: list[tuple[_Answer, int]]) -> None:
        at, uuid = moment(line.get("timestamp")), text(line.get("uuid"))
        rest: list[Json] = []
        for block in content_of(line):
            if block.get("type") == "tool_result":
                if not self._result(block, line, open_calls, at):
                    rest.append(block)
            else:
                rest.append(block)
        said = content(rest)
        parts = said.parts + tuple(
            {
                "type": "tool_call_response",
                "id": ident(block.get("tool_use_id")),
                "response": block.get("content"),
                "is_error": block.get("is_error") is True,
            }
            for block in said.others
        )
        if not said.text and not parts:
            return
        compacted = line.get("isCompactSummary") is True
        by_user = not (compacted or line.get("isMeta") is True or said.others or said.text.startswith(_INTERRUPTED))
        found.append(
            Said(
                role="user" if by_user else "environment",
                text=said.text,
                kind="compaction" if compacted else "text",
                parts=parts,
                at=at,
                key=uuid,
            )
        )

    def _result(self, block: Line, line: Line | None, open_calls: list[tuple[_Answer, int]], at: int | None) -> bool:
        """Give a result to the first open call with its id; False where there is none."""
        wanted = ident(block.get("tool_use_id"))
        place = next((n for n, (answer, i) in enumerate(open_calls) if answer.calls[i].call_id == wanted), None)
        if place is None:
            return False
        answer, number = open_calls.pop(place)
        call = replace(_answered(answer.calls[number], block), answered_at=at)
        answer.calls[number] = replace(call, runs=self._started_by(call, line))
        return True

    def _started_by(self, call: Call, line: Line | None) -> tuple[Run, ...]:
        """Return the run that a call started: by the agent id in its result, else by the words that it was given."""
        details = obj(line.get("toolUseResult")) if line is not None else {}
        agent_id = text(details.get("agentId"))
        asked = obj(call.arguments if isinstance(call.arguments, dict) else None).get("prompt")
        for thread in self._waiting:
            if (agent_id is not None and thread.agent_id == agent_id) or (
                isinstance(asked, str) and asked and thread.opening == asked
            ):
                self._waiting.remove(thread)
                return (self._run(thread),)
        return ()


def _answered(call: Call, block: Line) -> Call:
    value = plain_result(block.get("content"))
    said = value if isinstance(value, str) else content(block.get("content")).text
    if block.get("is_error") is not True:
        return replace(call, result=value)
    for by, pattern in _REFUSALS:
        if pattern.match(said):
            return replace(call, refused=Refused(by=by, reason=said))
    return replace(call, error=said or "error")
