"""Effects: what a call may change, by whose word, and what is known of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanproof_collector.dialects import evidence
from spanproof_collector.model.readings import ABSENT, Absent, Recorded, ToolDefinition
from spanproof_collector.model.spans import IMPORTED
from spanproof_collector.model.trials import (
    ClassSource,
    Effect,
    EffectClass,
    EffectState,
    Executed,
    Receipt,
    Refusal,
)
from spanproof_collector.trials.commands import of_shell, of_sql
from spanproof_collector.trials.tool_calls import JoinedCall
from spanproof_instrumentation import semconv


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The first verb of a name decides, or the strongest where verbs are joined (find_and_replace, get_or_create). Words
# that are as often nouns (order, message) decide only where no verb follows.
_READS: Final = _words(
    """get list search find lookup look read fetch query show view check describe count inspect browse retrieve verify
    validate calculate compute compare summarize think plan load peek status exists ping select grep glob ls cat head
    tail stat diff explain estimate preview"""
)
_WRITES: Final = _words(
    """create update issue send put write add insert upsert buy pay refund charge transfer cancel modify edit change
    submit schedule reschedule reserve move rename upload publish approve reject close reopen assign invite reply
    forward register enroll activate deactivate enable disable apply append replace save notify commit push merge
    deploy start stop restart make subscribe unsubscribe set post share copy patch store"""
)
_NOUNS_TOO: Final = _words("order book place return exchange record log message email mail checkout")
_DESTRUCTIVE: Final = _words("delete remove drop purge destroy erase wipe truncate kill terminate uninstall rm")
# These do whatever they are told to.
_OPAQUE: Final = _words("execute exec run eval invoke sql shell bash")
_JOINING: Final = _words("and or then")
_HANDOFF: Final = re.compile(r"^(handoff|hand_off|handover)(_|$)")
_TRANSFER: Final = re.compile(r"^(transfer|delegate|escalate|route|connect)_(back_)?to_")
_TO_SOMEBODY: Final = re.compile(
    r"(agents?|humans?|person|team|department|specialist|representative|support|operator|supervisor|assistant)$"
)
_ABOUT_A_HANDOFF: Final = _words("reason message summary input context task instructions")
_WORDS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

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


def infer_class(name: str, arguments: Recorded = ABSENT) -> EffectClass:
    """Return the effect class that a tool's name suggests; ``unclassified`` where it suggests none.

    ``transfer_to_x`` is a handoff where x is somebody, or where nothing but a reason is handed over.
    """
    plain = name.strip()
    lower = plain.lower()
    bare = isinstance(arguments, dict) and not arguments.keys() - _ABOUT_A_HANDOFF
    if _HANDOFF.search(lower) or (_TRANSFER.search(lower) and (bare or _TO_SOMEBODY.search(lower))):
        return "handoff"
    # a server's or namespace's prefix is not the verb: mcp__shop__refund, shop.refund
    plain = re.split(r"__|[./:]", plain)[-1] or plain
    words = [match.group().lower() for match in _WORDS.finditer(plain)]
    told = _class_of_command(arguments, opaque=not _OPAQUE.isdisjoint(words))
    if told is not None or _OPAQUE.intersection(words):
        return told or "unclassified"
    verbs = [found for word in words if (found := _verb(word)) is not None]
    if not verbs:
        return "write" if _NOUNS_TOO.intersection(words) else "unclassified"
    if not _JOINING.intersection(words):
        return verbs[0]
    strength: tuple[EffectClass, ...] = ("read", "write", "destructive")
    return max(verbs, key=strength.index)


def _class_of_command(arguments: Recorded, *, opaque: bool) -> EffectClass | None:
    """The class of the command that a tool was given; ``None`` where it was given none.

    A tool that runs whatever it is told changes what its command changes. One word is the command of an editor: view.
    """
    if not isinstance(arguments, dict):
        return None
    for key in ("command", "cmd", "commands", "script"):
        value = arguments.get(key)
        words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else value
        if not words or not isinstance(words, str | list):
            continue
        bare = isinstance(words, str) and words.replace("_", "").isalpha() and infer_class(words) != "unclassified"
        if opaque or bare or key in ("command", "cmd"):
            return of_shell(words, infer_class)
    statement = next((arguments[key] for key in ("sql", "query", "statement") if key in arguments), None)
    return of_sql(statement) if opaque and isinstance(statement, str) else None


def _verb(word: str) -> EffectClass | None:
    if word in _DESTRUCTIVE:
        return "destructive"
    if word in _WRITES:
        return "write"
    return "read" if word in _READS else None


def _class_of(call: JoinedCall, tools: Mapping[str, ToolDefinition]) -> tuple[EffectClass, ClassSource | None]:
    if any(run.handoff_to is not None for _, run in call.runs):
        return "handoff", "declared"
    for item, _ in reversed(call.runs):
        declared = evidence.effect(item.span.attributes).effect_class
        if declared is not None:
            return declared, "declared"
    tool = tools.get(call.name)
    if tool is not None and (tool.read_only_hint is not None or tool.destructive_hint is not None):
        if tool.read_only_hint:
            return "read", "mcp"
        return ("destructive" if tool.destructive_hint else "write"), "mcp"
    inferred = infer_class(call.name, call.arguments)
    return inferred, None if inferred == "unclassified" else "inferred"


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


def outcome_of_run(call: JoinedCall, refusals: Sequence[Refusal]) -> tuple[Executed, str, str | None]:
    """Return whether a call ran, why we think so, and its error.

    The reasons: ``refused``, ``deferred``, ``result``, ``validation``, ``error``, ``error_text``, ``no_result``,
    ``not_recorded``, and ``status`` where a recording without results says that the call went well.
    A tool span alone proves nothing: calls that pause for approval or are denied leave one too.
    """
    response = _recorded(call.response)
    answer = response if isinstance(response, str) else ""
    own = [(item, run) for item, run in call.runs if run.mcp_side is None] or call.runs
    last = own[-1] if own else None
    failed = [item for item, _ in call.runs if item.failed]
    told_by_spans = [_recorded(run.result) for item, run in call.runs if not item.failed and run.stopped is None]
    results = [result for result in told_by_spans if not isinstance(result, Absent)]
    denied = call.decisions[-1] if call.decisions and call.decisions[-1].approved is False else None
    if refusals:
        return "no", "refused", refusals[-1].reason
    if denied is not None and not results:
        return "no", "refused", denied.reason or answer or None
    if not results and _REFUSED.search(answer):
        return "no", "refused", answer
    if last is not None and last[1].stopped is not None and not results:
        return "no", *_never_began(last[1].stopped, answer, last[0].error)
    if (last is not None and last[0].failed) or (failed and not results):
        item = last[0] if last is not None and last[0].failed else failed[-1]
        error_type = item.span.attributes.get(semconv.ERROR_TYPE)
        kind = error_type if isinstance(error_type, str) else ""
        said = item.error or kind or "error"
        if _ARGUMENTS_REFUSED.search(said) or _NEVER_BEGAN.search(f"{kind} {said}"):
            return "no", "validation", said
        return "unknown", "error", said
    if any(run.done and not item.failed for item, run in call.runs) and call.response_is_error is not True:
        return "yes", "result", None
    if results:
        told = _error_text(results[-1])
        if told is not None and _ARGUMENTS_REFUSED.search(told):
            return "no", "validation", told
        return ("yes", "result", None) if told is None else ("unknown", "error_text", told)
    if not isinstance(response, Absent):
        told = _error_text(response) or ((answer or "error") if call.response_is_error else None)
        if told is not None and _ARGUMENTS_REFUSED.search(told):
            return "no", "validation", told
        return ("yes", "result", None) if told is None else ("unknown", "error_text", told)
    if any(item.span.status == "OK" and item.span.scope.name == IMPORTED for item, _ in call.runs):
        return "yes", "status", None
    return "unknown", "not_recorded" if isinstance(call.arguments, Absent) else "no_result", None


def _never_began(stopped: str, answer: str, error: str) -> tuple[str, str | None]:
    """Why a call never began. One that waited for leave, did not run and was answered all the same was denied."""
    if stopped == "invalid":
        return "validation", error or answer or None
    if stopped == "denied" or answer:
        return "refused", answer or error or None
    return "deferred", None


@dataclass(frozen=True, slots=True)
class _Names:
    """What an effect is known by."""

    destination: str | None
    resource: str | None
    operation: str | None
    idempotency_key: str | None

    def fits(self, other: "_Names") -> bool:
        """True when nothing that both name differs, and both name two things or more."""
        both = [(mine, theirs) for mine, theirs in zip(self._all(), other._all(), strict=True) if mine and theirs]
        return len(both) >= 2 and all(mine == theirs for mine, theirs in both)

    def same_key(self, other: "_Names") -> bool:
        """True when both carry one idempotency key, and nothing else differs."""
        return self.idempotency_key is not None and self.idempotency_key == other.idempotency_key and self.fits(other)

    def filled(self, other: "_Names") -> "_Names":
        """These names, and the other's where one is missing."""
        return _Names(*(mine or theirs for mine, theirs in zip(self._all(), other._all(), strict=True)))

    def _all(self) -> tuple[str | None, ...]:
        return (self.destination, self.resource, self.operation, self.idempotency_key)


_NO_NAMES: Final = _Names(None, None, None, None)


def _names_of_call(call: JoinedCall) -> _Names:
    names = _NO_NAMES
    for item, _ in reversed(call.runs):
        said = evidence.effect(item.span.attributes)
        names = names.filled(_Names(said.destination, said.resource, said.operation, said.idempotency_key))
    return names


def _names_of_receipt(receipt: Receipt) -> _Names:
    return _Names(receipt.destination, receipt.resource, receipt.operation, receipt.idempotency_key)


def assign_receipts(
    calls: Sequence[JoinedCall], receipts: Sequence[Receipt], tools: Mapping[str, ToolDefinition]
) -> list[tuple[Receipt, ...]]:
    """Return the receipts of each call, in the order of the calls.

    A receipt on a write's own span is that write's, unless it says that nothing changed there (pre- and post-state are
    equal): then what it saw is the work of an earlier attempt. One idempotency key is one effect, so a receipt settles
    every call with the key. A receipt elsewhere, as a reconciling read leaves it, is for the latest call that it names
    and that had begun: one thing seen proves one of several attempts at most. On a read that names no write it is the
    read's own, which changed something.
    """
    names = [_names_of_call(call) for call in calls]
    writes = [_class_of(call, tools)[0] != "read" for call in calls]
    owners = {item.span.span_id: i for i, call in enumerate(calls) for item, _ in call.runs}
    begun = [min((item.span.start for item, _ in call.runs), default=call.asked_at[0]) for call in calls]
    found: list[list[Receipt]] = [[] for _ in calls]

    def latest(some: Sequence[int]) -> list[int]:
        return [max(some, key=lambda i: (begun[i], i))] if some else []

    for receipt in receipts:
        own = owners.get(receipt.span_id)
        told = _names_of_receipt(receipt)
        if own is not None and writes[own] and (told == _NO_NAMES or told.filled(names[own]).fits(names[own])):
            told = told.filled(names[own])
        fitting = [i for i in range(len(calls)) if writes[i] and told.fits(names[i])]
        chosen = [i for i in fitting if told.same_key(names[i])]
        if not chosen and own is not None and writes[own] and (own in fitting or not fitting):
            unchanged = receipt.pre_state is not None and receipt.pre_state == receipt.post_state
            earlier = [i for i in fitting if begun[i] < begun[own]]
            chosen = latest(earlier) if unchanged and earlier else [own]
        if not chosen:
            chosen = latest([i for i in fitting if begun[i] <= receipt.time]) or ([own] if own is not None else [])
        for i in chosen:
            found[i].append(receipt)
    return [tuple(items) for items in found]


def effect_of(
    call: JoinedCall,
    *,
    executed: Executed,
    why: str,
    receipts: Sequence[Receipt],
    tools: Mapping[str, ToolDefinition],
) -> Effect:
    """Return the effect of a call. The latest receipt outranks what the tool said; what nobody said stays unknown."""
    names = _names_of_call(call)
    effect_class, source = _class_of(call, tools)
    changed = any(
        r.pre_state is not None and r.post_state is not None and r.pre_state != r.post_state for r in receipts
    )
    if changed and effect_class in ("read", "unclassified"):
        effect_class, source = "write", "observed"
    state, reason, resolved_by = _state(effect_class, executed, why, receipts)
    return Effect(
        effect_class=effect_class,
        class_source=source,
        state=state,
        reason=reason,
        destination=names.destination,
        resource=names.resource,
        operation=names.operation,
        idempotency_key=names.idempotency_key,
        resolved_by=resolved_by,
    )


def _state(
    effect_class: EffectClass, executed: Executed, why: str, receipts: Sequence[Receipt]
) -> tuple[EffectState, str, str | None]:
    if effect_class in ("read", "handoff"):
        return "none", effect_class, None
    if receipts:
        last = receipts[-1]
        return last.state, "receipt", last.span_id
    if executed == "no":
        return ("refused", "refused", None) if why == "refused" else ("none", why, None)
    if executed == "yes":
        return "reported", "tool_reported", None
    return "unknown", why, None
