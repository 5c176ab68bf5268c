"""What must not leave the process does not, and a rule that fails lets nothing pass."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanproof_instrumentation import redaction, semconv
from spanproof_instrumentation.redacted import redacted_spans
from spanproof_instrumentation.redaction import REPLACEMENT, Redaction, Rules
from tests.instrumentation.sink import Sink, run, run_agent, texts

SECRET = "4111222233334444"

PROGRAM = """
import json
from opentelemetry import trace
from opentelemetry.trace import Link, Status, StatusCode
SECRET = "4111222233334444"
tracer = trace.get_tracer("library")
with tracer.start_as_current_span("pay " + SECRET) as span:
    span.set_attribute("text", "card " + SECRET)
    span.set_attribute("number", int(SECRET))
    span.set_attribute("list", ["a", SECRET])
    span.set_attribute("json", json.dumps({"card": {"number": SECRET}, "kept": "yes"}))
    span.set_attribute("nested", json.dumps({"inner": json.dumps({"number": int(SECRET)})}))
    span.set_attribute("escaped", '{"card": "\\\\u0034111222233334444"}')
    span.set_attribute("kept", "hello")
    span.add_event("event " + SECRET, {"e": SECRET})
    span.set_status(Status(StatusCode.ERROR, "refused " + SECRET))
    span.add_link(span.get_span_context(), {"l": SECRET})
    try:
        raise ValueError("bad " + SECRET)
    except ValueError as error:
        span.record_exception(error)
"""


def test_a_pattern_takes_a_secret_out_of_every_place_of_a_span(http_sink: Sink) -> None:
    environment = {"OTEL_RESOURCE_ATTRIBUTES": f"card={SECRET}"}
    done = run_agent(PROGRAM, http_sink.address, "--redact", r"\d{16}", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    for body in http_sink.bodies:
        assert SECRET.encode() not in body
        assert b"u0034111" not in body
    (span,) = http_sink.spans()
    attributes = texts(span.attributes)
    assert attributes["kept"] == "hello"
    assert attributes["text"] == f"card {REPLACEMENT}"
    assert json.loads(attributes["json"]) == {"card": {"number": REPLACEMENT}, "kept": "yes"}
    assert not any(pair.value.int_value == int(SECRET) for pair in span.attributes)
    assert span.status.message == f"refused {REPLACEMENT}"


def test_without_a_rule_nothing_is_changed(http_sink: Sink) -> None:
    run_agent(PROGRAM, http_sink.address)
    assert SECRET.encode() in http_sink.bodies[0]


@pytest.mark.parametrize(
    "hook",
    [
        "lambda name, value: 1 / 0",
        "lambda name, value: object()",
        "lambda name, value: None",
        "lambda: None",
    ],
)
def test_a_function_that_fails_or_says_none_lets_no_value_pass(http_sink: Sink, hook: str) -> None:
    configured = (
        f"from spanproof_instrumentation import configure\nconfigure(endpoint={http_sink.address!r}, redact={hook})\n"
    )
    done = run(configured + PROGRAM)
    assert done.returncode == 0
    (span,) = http_sink.spans()
    assert not span.attributes
    assert SECRET.encode() not in http_sink.bodies[0]


def test_a_function_sees_names_and_values_and_its_answer_is_sent(http_sink: Sink) -> None:
    configured = f"""
from spanproof_instrumentation import configure
def hook(name, value):
    return "hidden" if name == "text" else value
configure(endpoint={http_sink.address!r}, redact=[hook])
"""
    assert run(configured + PROGRAM).stderr == ""
    assert texts(http_sink.spans()[0].attributes)["text"] == "hidden"


def test_a_rule_that_cannot_be_read_lets_nothing_pass_and_is_told(http_sink: Sink) -> None:
    configured = (
        f"from spanproof_instrumentation import configure\nconfigure(endpoint={http_sink.address!r}, redact='(')\n"
    )
    done = run(configured + PROGRAM)
    assert done.returncode == 0
    assert "every value is held back" in done.stderr
    (span,) = http_sink.spans()
    assert not span.attributes
    assert SECRET.encode() not in http_sink.bodies[0]


def value(rules: Rules, given: object, name: str = "a") -> object:
    made = Redaction.of(rules)
    assert made is not None
    return made.value(name, given)


@pytest.mark.parametrize(
    ("path", "given", "expected"),
    [
        ("$.card", {"card": 1, "x": 2}, {"card": REPLACEMENT, "x": 2}),
        ("$.card.number", {"card": {"number": 1, "x": 2}}, {"card": {"number": REPLACEMENT, "x": 2}}),
        ("$['a b']", {"a b": 1}, {"a b": REPLACEMENT}),
        ("$[0].x", [{"x": 1}, {"x": 2}], [{"x": REPLACEMENT}, {"x": 2}]),
        ("$[*].x", [{"x": 1}, {"x": 2}], [{"x": REPLACEMENT}, {"x": REPLACEMENT}]),
        ("$.*", {"a": 1, "b": [2]}, {"a": REPLACEMENT, "b": REPLACEMENT}),
        ("$..x", {"x": 1, "a": [{"x": {"x": 2}}]}, {"x": REPLACEMENT, "a": [{"x": REPLACEMENT}]}),
        ("$.x.y", {"x": '{"y": 1}'}, {"x": f'{{"y": "{REPLACEMENT}"}}'}),
        ("a:$.x", {"x": 1}, {"x": REPLACEMENT}),
        ("b:$.x", {"x": 1}, {"x": 1}),
        ("gen_ai.*:$.x", {"x": 1}, {"x": 1}),
        ("$.missing", {"x": 1}, {"x": 1}),
    ],
)
def test_a_json_path_takes_out_what_it_points_at(path: str, given: object, expected: object) -> None:
    found = value(path, json.dumps(given))
    assert isinstance(found, str)
    assert json.loads(found) == expected
    assert value(path, given) == expected  # the same where the value is no text but structured, as on log records


def test_a_json_text_that_was_cut_off_is_dropped_where_a_path_concerns_it() -> None:
    assert value("$.card", '{"card": "4111') is None
    assert value("b:$.card", '{"card": "4111') == '{"card": "4111'
    assert value("$.card", "card 4111") == "card 4111"


def test_a_text_nested_without_end_is_dropped() -> None:
    deep: object = SECRET
    for _ in range(100):
        deep = [deep]
    assert value(SECRET, json.dumps(deep)) is None


def test_a_value_of_an_unknown_kind_is_dropped() -> None:
    assert value("x", object()) is None


@given(
    st.recursive(
        st.one_of(st.just(SECRET), st.integers(), st.text(max_size=5), st.none(), st.booleans()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.one_of(st.just(SECRET), st.text(max_size=3)), inner, max_size=3),
            inner.map(json.dumps),
        ),
        max_leaves=8,
    )
)
def test_a_pattern_never_lets_a_secret_pass_however_it_is_wrapped(wrapped: object) -> None:
    for given_value in (json.dumps(wrapped), json.dumps(wrapped, ensure_ascii=False), wrapped):
        assert SECRET not in repr(value(re.compile(SECRET), given_value))


@pytest.mark.parametrize("answer", [object(), {"a": object()}, ["a", object()], {1: "a"}])
def test_an_answer_that_cannot_be_sent_drops_the_value(answer: object) -> None:
    assert value(lambda name, given: answer, "x") is None


def test_the_name_of_a_rule_says_what_it_is() -> None:
    rules = redaction.rules_of_text("sk-\\w+\n\n$.card\n")
    assert rules == ["sk-\\w+", "$.card"]
    assert redaction.text_of_rules(["a", "b"]) == "a\nb"


@pytest.mark.parametrize("rule", ["(", "$.a b", "$.", "$[x]"])
def test_a_rule_that_cannot_be_read_is_refused_where_it_can_be(rule: str) -> None:
    with pytest.raises(redaction.RedactionError, match="is no"):
        Redaction.strictly(rule)


def test_redaction_does_not_change_what_other_exporters_see(spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("library").start_as_current_span("a") as span:
        span.set_attribute(semconv.TOOL_RESULT, SECRET)
        span.add_event("e", {"x": SECRET})
    (seen,) = spans.get_finished_spans()
    (copy,) = redacted_spans(Redaction.strictly(SECRET), [seen])
    assert SECRET not in repr(dict(copy.attributes or {}))
    assert (seen.attributes or {})[semconv.TOOL_RESULT] == SECRET
    assert (seen.events[0].attributes or {})["x"] == SECRET


def test_a_copy_still_says_how_much_was_dropped_before(http_sink: Sink) -> None:
    limits = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "3"}
    run_agent(PROGRAM, http_sink.address, "--redact", "nothing", environment=limits)
    assert http_sink.spans()[0].dropped_attributes_count == 4
