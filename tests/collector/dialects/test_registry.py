"""Whose span it is: told by attributes, then by scope; by nothing else."""

import pytest

from spanproof_collector import dialects
from spanproof_collector.dialects import DIALECTS, SpanView, read_span, session_of, user_of
from spanproof_collector.dialects._dialect import Dialect
from spanproof_collector.dialects._registry import Registry
from spanproof_collector.model.readings import Other, Reading
from spanproof_collector.model.values import Value

MARKED: list[tuple[str, dict[str, Value], str]] = [
    ("mcp", {"mcp.method.name": "tools/list", "gen_ai.operation.name": "execute_tool"}, ""),
    ("openinference", {"openinference.span.kind": "LLM"}, ""),
    ("openinference", {"llm.input_messages.40.message.role": "user"}, "somebody's"),
    ("langfuse", {"langfuse.observation.type": "generation"}, "langfuse-sdk"),
    ("mlflow", {"mlflow.spanType": '"TOOL"'}, ""),
    ("anthropic", {"gen_ai.operation.name": "chat"}, "com.anthropic.sdk.typescript"),
    ("pydantic_ai", {"gen_ai.operation.name": "chat", "logfire.span_type": "span"}, "pydantic-ai"),
    ("logfire", {"gen_ai.operation.name": "chat", "logfire.span_type": "span"}, "logfire.openai"),
    ("strands", {"gen_ai.operation.name": "chat"}, "strands.telemetry.tracer"),
    ("openllmetry", {"traceloop.span.kind": "task"}, "traceloop.tracer"),
    ("openllmetry", {"llm.request.type": "chat"}, ""),
    ("openllmetry", {"gen_ai.operation.name": "chat"}, "opentelemetry.instrumentation.openai_agents"),
    ("openllmetry", {"gen_ai.prompt.31.content": "what is left of a span that lost its first keys"}, ""),
    ("genai", {"gen_ai.operation.name": "chat"}, "opentelemetry.instrumentation.genai.openai_agents"),
    ("genai", {"gen_ai.operation.name": "chat"}, "anything"),
]


@pytest.mark.parametrize(("name", "attributes", "scope"), MARKED)
def test_a_span_is_its_dialects_by_attributes_then_scope(name: str, attributes: dict[str, Value], scope: str) -> None:
    found = read_span(SpanView(attributes=attributes, scope=scope))
    assert found is not None
    assert found[0] == name


@pytest.mark.parametrize("name", ["chat gpt-4o", "openai.chat", "ai.toolCall", "anthropic.messages.create", "turn"])
def test_a_span_is_nobodys_by_its_name_alone(name: str) -> None:
    assert read_span(SpanView(attributes={"http.request.method": "POST"}, name=name)) is None


def test_one_payload_under_two_scopes_and_two_under_one() -> None:
    old: dict[str, Value] = {"llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "x"}
    new: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"x"}]}]',
    }
    scope = "opentelemetry.instrumentation.openai.v1"
    (first, one), (second, other) = (
        found for attributes in (old, new) if (found := read_span(SpanView(attributes=attributes, scope=scope)))
    )
    assert (first, second) == ("openllmetry", "openllmetry")
    assert getattr(one, "input", None) == getattr(other, "input", None) is not None


class _Broken(Dialect):
    name = "broken"
    marks = frozenset({"gen_ai.operation.name"})

    def read(self, span: SpanView) -> Reading | None:
        raise RuntimeError("no such shape")


def test_a_dialect_that_fails_leaves_the_span_to_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dialects, "_registry", Registry((_Broken(), *DIALECTS)))
    found = read_span(SpanView(attributes={"gen_ai.operation.name": "plan"}))
    assert found == ("genai", Other(operation="plan"))
    assert "dialect broken fails" in caplog.text


def test_the_conventions_session_comes_before_any_dialects_own() -> None:
    own: dict[str, Value] = {"langfuse.session.id": "l", "traceloop.association.properties.session_id": "t"}
    assert session_of(own) == "l"
    assert session_of({**own, "session.id": "s"}) == "s"
    assert session_of({**own, "session.id": "s", "gen_ai.conversation.id": "c"}) == "c"
    assert session_of({**own, "session.id": "", "gen_ai.conversation.id": None}) == "l"
    assert session_of({"service.name": "x"}) == ""


def test_the_user_stands_where_the_conventions_or_a_dialect_put_it() -> None:
    assert user_of({"traceloop.association.properties.user_id": "u"}) == "u"
    assert user_of({"enduser.id": "e", "langfuse.user.id": "l"}) == "e"
    assert user_of({"session.id": "s"}) == ""


def test_every_dialect_has_a_page_and_is_in_the_contract() -> None:
    from pathlib import Path

    root = Path(__file__).parents[3]
    contract = (root / "pyproject.toml").read_text()
    index = (root / "docs" / "dialects" / "README.md").read_text()
    for dialect in DIALECTS:
        module = type(dialect).__module__
        assert f'"{module}",' in contract
        assert f"`{dialect.name}`" in index
