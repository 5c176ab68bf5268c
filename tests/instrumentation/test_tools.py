import asyncio
import inspect
from collections.abc import AsyncGenerator, Generator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from spanproof_instrumentation import semconv, tool, tool_span


@tool
def add(a: int, b: int = 2, **more: int) -> int:
    return a + b + sum(more.values())


@tool(name="add-later", description="Adds")
async def add_later(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


@tool
def count(limit: int) -> Generator[int, str | None, str]:
    heard = []
    for number in range(limit):
        heard.append((yield number))
    return repr(heard)


@tool
async def count_later(limit: int) -> AsyncGenerator[int, str | None]:
    for number in range(limit):
        await asyncio.sleep(0)
        yield number


@tool
def fail(error: BaseException) -> None:
    raise error


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_plain_function_keeps_its_result_and_shows_arguments_by_name(spans: InMemorySpanExporter) -> None:
    assert add(1, c=4) == 7
    (span,) = spans.get_finished_spans()
    assert span.name == "execute_tool add"
    assert attributes(span)[semconv.TOOL_ARGUMENTS] == '{"a": 1, "b": 2, "c": 4}'
    assert attributes(span)[semconv.TOOL_RESULT] == "7"


def test_a_method_shows_its_arguments_without_the_object(spans: InMemorySpanExporter) -> None:
    class Desk:
        @tool
        def ring(self, times: int) -> int:
            return times

    assert Desk().ring(3) == 3
    assert attributes(spans.get_finished_spans()[0])[semconv.TOOL_ARGUMENTS] == '{"times": 3}'


async def test_an_async_function_keeps_its_result(spans: InMemorySpanExporter) -> None:
    assert await add_later(1, b=2) == 3
    (span,) = spans.get_finished_spans()
    assert attributes(span)[semconv.TOOL_NAME] == "add-later"
    assert attributes(span)[semconv.TOOL_DESCRIPTION] == "Adds"
    assert attributes(span)[semconv.TOOL_RESULT] == "3"


def test_a_generator_hears_what_is_sent_and_returns_what_it_returned(spans: InMemorySpanExporter) -> None:
    stream = count(2)
    assert next(stream) == 0
    assert not trace.get_current_span().is_recording()  # its consumer is not inside the tool
    assert stream.send("hello") == 1
    with pytest.raises(StopIteration) as stop:
        stream.send("bye")
    assert stop.value.value == "['hello', 'bye']"
    assert attributes(spans.get_finished_spans()[0])[semconv.TOOL_RESULT] == "[0, 1]"


def test_a_generator_gets_what_is_thrown_into_it(spans: InMemorySpanExporter) -> None:
    @tool
    def forgiving() -> Generator[str]:
        try:
            yield "first"
        except KeyError as error:
            yield f"caught {error}"

    stream = forgiving()
    next(stream)
    assert stream.throw(KeyError(1)) == "caught 1"
    assert list(stream) == []
    assert spans.get_finished_spans()[0].status.status_code is StatusCode.UNSET


def test_a_generator_that_is_left_early_is_closed_and_its_span_ends(spans: InMemorySpanExporter) -> None:
    closed = []

    @tool
    def endless() -> Generator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    stream = endless()
    next(stream)
    stream.close()
    assert closed == [True]
    (span,) = spans.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET


async def test_an_async_generator_yields_the_same_items(spans: InMemorySpanExporter) -> None:
    assert [item async for item in count_later(3)] == [0, 1, 2]
    assert attributes(spans.get_finished_spans()[0])[semconv.TOOL_RESULT] == "[0, 1, 2]"


def test_spans_inside_a_generator_are_children_of_its_span(spans: InMemorySpanExporter) -> None:
    @tool
    def outer() -> Generator[int]:
        with tool_span("inner"):
            pass
        yield 1

    assert list(outer()) == [1]
    inner, own = spans.get_finished_spans()
    assert inner.parent is not None
    assert own.context is not None
    assert inner.parent.span_id == own.context.span_id


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_exception_of_a_tool_is_the_same_object(spans: InMemorySpanExporter, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        fail(error)
    assert caught.value is error
    assert str(attributes(spans.get_finished_spans()[0])[semconv.ERROR_TYPE]).endswith(type(error).__name__)


def test_a_decorated_function_stays_what_it_is() -> None:
    assert inspect.iscoroutinefunction(add_later)
    assert inspect.isgeneratorfunction(count)
    assert inspect.isasyncgenfunction(count_later)
    assert add.__name__ == "add"
    assert list(inspect.signature(add).parameters) == ["a", "b", "more"]


@pytest.mark.usefixtures("spans")
def test_a_wrong_call_of_a_tool_fails_as_it_did_before() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        add()  # type: ignore[call-arg]


def test_a_decorator_that_is_called_wrongly_still_decorates(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(nam="x")  # type: ignore[call-overload, untyped-decorator]
    def one() -> int:
        return 1

    @tool("two")  # type: ignore[call-overload, untyped-decorator]
    def two() -> int:
        return 2

    assert (one(), two()) == (1, 2)
    assert [span.name for span in spans.get_finished_spans()] == ["execute_tool one", "execute_tool two"]
    assert "unexpected keyword argument 'nam'" in caplog.text
    assert "write @tool(name=" in caplog.text
