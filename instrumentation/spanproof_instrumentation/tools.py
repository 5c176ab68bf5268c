"""The decorator that turns a function of any kind into a tool whose calls are spans."""

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Final, ParamSpec, TypeVar, cast, overload

from spanproof_instrumentation.barrier import attempt, forgiving, tell_once
from spanproof_instrumentation.content import captured
from spanproof_instrumentation.spans import ToolSpan, tool_span

P = ParamSpec("P")
R = TypeVar("R")

_MOST_ITEMS: Final = 1000  # of what a generator yields, this many are kept for the span; a stream can be endless


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@forgiving()
def tool(
    function: Callable[P, R] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Record each call of the function as a tool span, with arguments by name and the result where content is captured.

    Plain and async functions, generators and async generators stay what they are; what they return, yield and raise
    is unchanged.
    """

    def decorate(decorated: Callable[P, R]) -> Callable[P, R]:
        return attempt(decorated, _decorated, decorated, name, description)

    given: object = function
    if given is not None and not callable(given):
        tell_once(f"spanproof: @tool({function!r}) was taken for @tool(); write @tool(name=…)")
        return decorate
    return decorate if function is None else decorate(function)


def _decorated(function: Callable[P, R], name: str | None, description: str | None) -> Callable[P, R]:
    title = name or str(getattr(function, "__name__", type(function).__name__))
    signature = attempt(None, inspect.signature, function)

    def opened(arguments: tuple[object, ...], keywords: dict[str, object]) -> ToolSpan:
        given = None
        if signature is not None and captured():
            given = attempt(None, _by_name, signature, arguments, keywords)
        return tool_span(title, arguments=given, description=description)

    if inspect.isasyncgenfunction(function):
        return cast("Callable[P, R]", _async_generator(function, opened))
    if inspect.isgeneratorfunction(function):
        return cast("Callable[P, R]", _generator(function, opened))
    if inspect.iscoroutinefunction(function):
        return cast("Callable[P, R]", _coroutine(function, opened))

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with opened(args, kwargs) as span:
            result = function(*args, **kwargs)
            span.result(result)
            return result

    return call


Opened = Callable[[tuple[object, ...], dict[str, object]], ToolSpan]


def _by_name(
    signature: inspect.Signature, arguments: tuple[object, ...], keywords: dict[str, object]
) -> dict[str, object]:
    bound = signature.bind_partial(*arguments, **keywords)
    bound.apply_defaults()
    given = dict(bound.arguments)
    first = next(iter(signature.parameters), None)
    if first in ("self", "cls"):
        del given[first]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(parameter.name, {})
    return given


def _coroutine(function: Callable[P, Awaitable[R]], opened: Opened) -> Callable[P, Awaitable[R]]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with opened(args, kwargs) as span:
            result = await function(*args, **kwargs)
            span.result(result)
            return result

    return call


Y = TypeVar("Y")
S = TypeVar("S")


def _generator(function: Callable[P, Generator[Y, S, R]], opened: Opened) -> Callable[P, Generator[Y, S, R]]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Generator[Y, S, R]:
        span = opened(args, kwargs)
        span.start()
        stream = function(*args, **kwargs)
        items: list[Y] = []
        failure: BaseException | None = None
        step: Callable[[], Y] = stream.__next__
        try:
            while True:
                # The span is current while the tool works, and not while its consumer does.
                span.attach()
                try:
                    item = step()
                finally:
                    span.detach()
                if len(items) < _MOST_ITEMS:
                    items.append(item)
                try:
                    sent = yield item
                except GeneratorExit:
                    stream.close()
                    raise
                except BaseException as thrown:
                    step = functools.partial(stream.throw, thrown)
                else:
                    step = stream.__next__ if sent is None else functools.partial(stream.send, sent)
        except StopIteration as stop:
            return cast("R", stop.value)
        except BaseException as error:
            failure = error
            raise
        finally:
            span.result(items)
            span.finish(failure)

    return call


def _async_generator(function: Callable[P, AsyncGenerator[Y, S]], opened: Opened) -> Callable[P, AsyncGenerator[Y, S]]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Y, S]:
        span = opened(args, kwargs)
        span.start()
        stream = function(*args, **kwargs)
        items: list[Y] = []
        failure: BaseException | None = None
        step: Callable[[], Awaitable[Y]] = stream.__anext__
        try:
            while True:
                span.attach()
                try:
                    item = await step()
                finally:
                    span.detach()
                if len(items) < _MOST_ITEMS:
                    items.append(item)
                try:
                    sent = yield item
                except GeneratorExit:
                    await stream.aclose()
                    raise
                except BaseException as thrown:
                    step = functools.partial(stream.athrow, thrown)
                else:
                    step = stream.__anext__ if sent is None else functools.partial(stream.asend, sent)
        except StopAsyncIteration:
            return
        except BaseException as error:
            failure = error
            raise
        finally:
            span.result(items)
            span.finish(failure)

    return call
