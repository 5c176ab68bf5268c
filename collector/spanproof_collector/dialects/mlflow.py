"""MLflow tracing over OTLP: every attribute value is JSON, names are JSON strings too."""

from collections.abc import Iterator
from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import (
    BrokenError,
    amount,
    as_attributes,
    broken,
    count,
    decode,
    loose,
    number,
    text,
    unblocked,
)
from spanproof_collector.dialects._payloads import answered, history, offered, requested, tool_answer
from spanproof_collector.dialects._usage import whole
from spanproof_collector.model.readings import (
    ABSENT,
    AgentRun,
    ModelCall,
    Other,
    Reading,
    Recorded,
    Retrieval,
    ToolRun,
    Usage,
)
from spanproof_collector.model.trials import ForeignResult
from spanproof_collector.model.values import Attributes, Json

_TYPE: Final = "mlflow.spanType"
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"
_ASSESSMENTS: Final = "mlflow.assessments"


class MLflow(Dialect):
    """Spans with ``mlflow.spanType``. The GenAI export of MLflow writes the conventions instead."""

    name: ClassVar = "mlflow"
    marks: ClassVar = frozenset({_TYPE})
    session_keys: ClassVar = ("mlflow.trace.session", "mlflow.traceTag.mlflow.trace.session")
    user_keys: ClassVar = ("mlflow.trace.user", "mlflow.traceTag.mlflow.trace.user")

    def read(self, span: SpanView) -> Reading | None:
        """What the span says, by its type."""
        attributes = span.attributes
        kind = _name(attributes, _TYPE)
        match kind.upper():
            case "":
                return None
            case "LLM" | "CHAT_MODEL":
                return _model_call(attributes, whole_input=span.history)
            case "TOOL":
                return _tool_run(span)
            case "AGENT" | "WORKFLOW":
                return _agent_run(span, "invoke_agent" if kind.upper() == "AGENT" else "invoke_workflow")
            case "RETRIEVER":
                query = _payload(attributes, _INPUTS)
                said = query.get("query") if isinstance(query, dict) else query
                return Retrieval(query=said if isinstance(said, str) else None)
            case _:
                return Other(operation=kind.lower())

    def foreign(self, span: SpanView) -> Iterator[ForeignResult]:
        """Assessments that were written onto the span."""
        found = _payload(span.attributes, _ASSESSMENTS)
        for item in found if isinstance(found, list) else []:
            if isinstance(item, dict) and isinstance(name := item.get("name", item.get("assessment_name")), str):
                yield _assessment(name, item, span.span_id)


def _assessment(name: str, item: dict[str, Json], span_id: str) -> ForeignResult:
    inner = item.get("feedback", item.get("expectation"))
    value = inner.get("value") if isinstance(inner, dict) else item.get("value")
    error = inner.get("error") if isinstance(inner, dict) else None
    why = item.get("rationale")
    label = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else None
    return ForeignResult(
        name=name,
        score=number(value),
        label=label,
        explanation=why if isinstance(why, str) else None,
        error_type=str(error.get("error_code")) if isinstance(error, dict) else None,
        span_id=span_id or None,
    )


def _name(attributes: Attributes, key: str) -> str:
    """A name that is a JSON string, quotes and all."""
    value = attributes.get(key)
    return value.strip().strip('"') if isinstance(value, str) else ""


def _payload(attributes: Attributes, key: str) -> Json:
    value = attributes.get(key)
    opened = None if value is None else loose(value)
    # a JSON string is a string with quotes around it
    quoted = isinstance(opened, str) and len(opened) > 1 and opened[0] == opened[-1] == '"'
    return _unquoted(opened) if isinstance(opened, str) and quoted else opened


def _unquoted(said: str) -> Json:
    try:
        return decode(said)
    except BrokenError:
        return said


def _model_call(attributes: Attributes, *, whole_input: bool) -> ModelCall:
    given = _payload(attributes, _INPUTS) if whole_input else None
    said = _payload(attributes, _OUTPUTS)
    model = _name(attributes, "mlflow.llm.model") or _name(attributes, "model")
    output = answered(said)
    tools = _payload(attributes, "mlflow.chat.tools") if whole_input else None
    return ModelCall(
        operation="chat",
        provider=_name(attributes, "mlflow.llm.provider") or None,
        request_model=_name(attributes, "model") or model or None,
        response_model=model or None,
        input=requested(given) or None,
        output=output or None,
        tools=offered(tools) or (offered(given) if isinstance(given, dict) else ()),
        finish_reasons=tuple(m.finish_reason for m in output if m.finish_reason),
        usage=_usage(_payload(attributes, "mlflow.chat.tokenUsage")),
        cost=amount(as_attributes(_payload(attributes, "mlflow.llm.cost")).get("total_cost")),
        truncated_values=broken(given) + broken(said),
    )


def _usage(told: Json) -> Usage:
    """MLflow makes the input include the cache, whatever the provider did."""
    got = as_attributes(told)
    return whole(
        input_tokens=count(got, "input_tokens"),
        output_tokens=count(got, "output_tokens"),
        cache_read=count(got, "cache_read_input_tokens"),
        cache_write=count(got, "cache_creation_input_tokens"),
        reasoning=count(got, "reasoning_tokens"),
        total=count(got, "total_tokens"),
    )


def _tool_run(span: SpanView) -> ToolRun:
    attributes = span.attributes
    arguments: Recorded = _payload(attributes, _INPUTS) if _INPUTS in attributes else ABSENT
    result: Recorded = _payload(attributes, _OUTPUTS) if _OUTPUTS in attributes else ABSENT
    call_id = error = None
    if (part := tool_answer(result)) is not None:
        result, call_id = part.response, part.call_id
        error = str(part.response) if part.is_error else None
    bare = arguments if isinstance(arguments, str) and not broken(arguments) else None
    return ToolRun(
        name=text(attributes, "gen_ai.tool.name") or span.name,
        call_id=call_id,
        arguments=ABSENT if bare is not None else arguments,
        bare_argument=bare,
        result=unblocked(result),
        error=error,
        truncated_values=broken(arguments) + broken(result),
    )


def _agent_run(span: SpanView, operation: str) -> AgentRun:
    given, said = _payload(span.attributes, _INPUTS), _payload(span.attributes, _OUTPUTS)
    conversation = history(said)
    return AgentRun(
        operation=operation,
        name=span.name or None,
        input=(conversation[:-1] or requested(given)) or None if span.history else None,
        output=answered(said) or None,
        truncated_values=broken(given) + broken(said),
    )
