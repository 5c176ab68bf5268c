"""Whether a call ran, why we think so, and what went wrong: from its spans, its answer and what was decided on it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.model.readings import ABSENT, Absent, Recorded, ToolRun
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.model.trials import Executed, Refusal
from spanproof_collector.trials._reading import ReadSpan
from spanproof_collector.trials.effects.exit_codes import exit_code_of
from spanproof_collector.trials.effects.names import runs_commands
from spanproof_collector.trials.tool_calls import JoinedCall
from spanproof_instrumentation import semconv


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What frameworks answer to the model when a call was not let through; it is the whole answer, not part of one.
_REFUSED: Final = re.compile(
    r"^\W*("
    r"(the )?tool (execution|call|use)( request)? (was |has been )?(not approved|denied|rejected|refused|declined)"
    r"( by (the )?(user|human|operator|approver|policy))?"
    r"|(the )?user (has )?(denied|rejected|declined|refused|doesn't want to allow|did not approve)"
    r"( (this|the) (tool|call|tool call|action|request|permission))?( to run)?"
    r"|(the )?user rejected the tool call for \S{1,80}( with (id|reason).{0,2000})?"
    r"|permission to use .{1,80} (was |has been )?denied( by (the )?user)?"
    r"|(request|call|action) (was )?(not approved|denied|rejected) by (the )?(user|human|operator|approver|policy)"
    r")\W*$",
    re.IGNORECASE,
)
_ERROR_OPENS: Final = re.compile(
    r"^\W*((\w+\.)*\w*(error|exception|timeout)\b\W|error\b|an error occurred|traceback \(most recent|failed to\b"
    r"|(the )?(request|operation|call|connection|api|tool)[\w ]{0,40}(failed|was cancell?ed|cancell?ed)\b"
    r"|timed out|timeout\b|cancell?ed\b|permission denied|access denied|(http\W*)?[45]\d\d\b[\w ]{0,40}$"
    r"|connection (reset|refused|aborted|closed|error|lost))",
    re.IGNORECASE,
)
_TIMED_OUT: Final = re.compile(
    r"\b(timed[ -]?out|connection reset|gateway timeout|service unavailable)\b", re.IGNORECASE
)
_SHORT: Final = 300
"""Longer than this a text speaks of many things, and only its beginning is taken for the answer."""

_REDACTED: Final = re.compile(r"^\W*(redacted|removed|hidden|filtered|omitted)\W*$|^\*{3,}$", re.IGNORECASE)
# What frameworks answer to the model where a call's arguments did not fit its tool: they never called it.
_ARGUMENTS_REFUSED: Final = re.compile(
    r"^\W*(error:? )?(validation failed for input parameters|error invoking tool .{1,80} with kwargs"
    r"|invalid json input for tool|an error occurred while parsing tool arguments"
    r"|failed to parse function arguments|(tool_use_error>\s*)?InputValidationError\b)",
    re.IGNORECASE,
)
# Only what says that the call never began: its own arguments were refused, or there is no such tool.
_NEVER_BEGAN: Final = re.compile(
    r"invalid (tool )?(arguments?|params?|parameters?|input)\b|missing required (argument|parameter)"
    r"|unexpected keyword argument|-32602|unknown tool\b|no such tool\b|tool \S+ (was )?not found|tool not found",
    re.IGNORECASE,
)


_FAILED_WORDS: Final = _words("error failed failure timeout timed_out exception")
_CANCELLED: Final = _words("cancelled canceled")
_ABOUT_A_CALL: Final = _words("status message error detail reason code result data id ok success")
"""Fields that speak of a call. What has others is a record, such as an order, whose status is its own."""


def _error_text(value: Recorded) -> str | None:
    """The words of a payload that tells of an error: its text begins like one, or its fields say so."""
    if isinstance(value, str):
        told = _ERROR_OPENS.search(value) or (len(value) < _SHORT and _TIMED_OUT.search(value))
        return value if told else None
    if isinstance(value, list):
        first = value[0] if value else None
        return _error_text(first.get("text")) if isinstance(first, dict) and first.get("type") == "text" else None
    if not isinstance(value, dict):
        return None
    status, code = value.get("status"), value.get("statusCode", value.get("status_code"))
    error_told = (
        bool(value.get("error"))
        or (isinstance(status, str) and status.lower() in _FAILED_WORDS)
        or (isinstance(status, str) and status.lower() in _CANCELLED and value.keys() <= _ABOUT_A_CALL)
        or any(isinstance(number, int) and 400 <= number < 600 for number in (status, code))
        or any(value.get(key) is True for key in ("isError", "is_error"))
        or any(value.get(key) is False for key in ("ok", "success"))
    )
    if not error_told:
        return _error_text(value.get("result")) if isinstance(value.get("result"), dict) else None
    said = value.get("error") or value.get("message") or value.get("detail") or status
    return said if isinstance(said, str) else "error"


def _recorded(value: Recorded) -> Recorded:
    """What was recorded of a result; a placeholder stands for nothing."""
    return ABSENT if isinstance(value, str) and _REDACTED.search(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """Whether a call ran.

    ``why`` is one of ``refused``, ``deferred``, ``validation`` (it never began), ``result``, ``status`` (a recording
    without results says that it went well), ``exit_code`` (it ran, and its command ended with another code than 0),
    ``unanswered`` (it ran, and a request that it made failed without a response), ``error``, ``error_text``,
    ``no_result``, ``not_recorded``.
    """

    executed: Executed
    why: str
    error: str | None = None
    exit_code: int | None = None


def outcome_of_run(call: JoinedCall, refusals: Sequence[Refusal]) -> Ran:
    """Return whether a call ran, why we think so, and its error.

    A tool span alone proves nothing: calls that pause for approval or are denied leave one too.
    """
    response = _recorded(call.response)
    answer = response if isinstance(response, str) else ""
    own = [(item, run) for item, run in call.runs if run.mcp_side is None] or call.runs
    last = own[-1] if own else None
    told_by_spans = [_recorded(run.result) for item, run in call.runs if not item.failed and run.stopped is None]
    results = [result for result in told_by_spans if not isinstance(result, Absent)]
    denied = call.decisions[-1] if call.decisions and call.decisions[-1].approved is False else None
    if refusals:
        return Ran(executed="no", why="refused", error=refusals[-1].reason)
    if denied is not None and not results:
        return Ran(executed="no", why="refused", error=denied.reason or answer or None)
    if not results and _REFUSED.search(answer):
        return Ran(executed="no", why="refused", error=answer)
    if last is not None and last[1].stopped is not None and not results:
        return _never_began(last[1].stopped, answer, last[0].error)
    code = _exit_code(call, response)
    if code is not None and code != 0:
        said = next((item.error for item, _ in reversed(call.runs) if item.failed and item.error), None)
        return Ran(executed="yes", why="exit_code", error=said or f"exit code {code}", exit_code=code)
    return replace(_by_answer(call, response, results, last), exit_code=code)


def _by_answer(
    call: JoinedCall, response: Recorded, results: Sequence[Recorded], last: tuple[ReadSpan, ToolRun] | None
) -> Ran:
    """What the spans' status says, else the result on a span, else the answer in a message."""
    failed = [item for item, _ in call.runs if item.failed]
    if (last is not None and last[0].failed) or (failed and not results):
        item = last[0] if last is not None and last[0].failed else failed[-1]
        error_type = item.span.attributes.get(semconv.ERROR_TYPE)
        kind = error_type if isinstance(error_type, str) else ""
        said = item.error or kind or "error"
        if _ARGUMENTS_REFUSED.search(said) or _NEVER_BEGAN.search(f"{kind} {said}"):
            return Ran(executed="no", why="validation", error=said)
        return Ran(executed="unknown", why="error", error=said)
    if any(run.done and not item.failed for item, run in call.runs) and call.response_is_error is not True:
        return Ran(executed="yes", why="result")
    if results:
        return _by_words(_error_text(results[-1]))
    if not isinstance(response, Absent):
        answer = response if isinstance(response, str) else ""
        return _by_words(_error_text(response) or ((answer or "error") if call.response_is_error else None))
    if any(item.span.status == "OK" and item.span.scope.name == IMPORTED for item, _ in call.runs):
        return Ran(executed="yes", why="status")
    return Ran(executed="unknown", why="not_recorded" if isinstance(call.arguments, Absent) else "no_result")


def _by_words(error: str | None) -> Ran:
    """What an answer says whose words of an error are these; ``None`` where it has none."""
    if error is None:
        return Ran(executed="yes", why="result")
    if _ARGUMENTS_REFUSED.search(error):
        return Ran(executed="no", why="validation", error=error)
    return Ran(executed="unknown", why="error_text", error=error)


def _exit_code(call: JoinedCall, response: Recorded) -> int | None:
    """The code that the call's command ended with: on its spans first, then in what it answered."""
    runs = [(item, run) for item, run in reversed(call.runs) if run.stopped is None]
    for item, run in runs:
        told = item.span.attributes.get(semconv.EXIT_CODE)
        if isinstance(told, int) and not isinstance(told, bool):
            return told
        if run.exit_code is not None:
            return run.exit_code
    shell = runs_commands(call.name, call.arguments)
    answers = [run.result for _, run in runs] + [response] + [item.error for item, _ in runs if item.failed]
    codes = (exit_code_of(_recorded(each), runs_commands=shell) for each in answers)
    return next((code for code in codes if code is not None), None)


def _never_began(stopped: str, answer: str, error: str) -> Ran:
    """Why a call never began. One that waited for leave, did not run and was answered all the same was denied."""
    if stopped == "invalid":
        return Ran(executed="no", why="validation", error=error or answer or None)
    if stopped == "denied" or answer:
        return Ran(executed="no", why="refused", error=answer or error or None)
    return Ran(executed="no", why="deferred")
