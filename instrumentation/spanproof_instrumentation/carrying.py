"""Context that is carried where it would be lost: into threads, thread pools and child processes.

The standard instrumentor does it for threads where it is installed. A child process gets TRACEPARENT and BAGGAGE of
the moment in which it is started, where its environment is the agent's or a copy of it.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from opentelemetry import context
from opentelemetry.context import Context

from spanproof_instrumentation.barrier import attempt
from spanproof_instrumentation.import_hooks import when_imported
from spanproof_instrumentation.labels import inject_environment

R = TypeVar("R")

_CARRIED: Final = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
_ENV_PLACE: Final = 10  # of subprocess.Popen, counted without self; the only argument of it that concerns us
_changing = threading.RLock()  # a forked child is still inside of it, and may start children itself


def carry_context(*, threads: bool) -> None:
    """Carry it into whatever is started from now on."""
    if threads:
        _threads()
        when_imported("concurrent.futures.thread", _thread_pools)
    when_imported("subprocess", _subprocesses)
    when_imported("multiprocessing.process", _multiprocessing)


def _threads() -> None:
    original = threading.Thread.start

    @functools.wraps(original)
    def start(self: threading.Thread) -> None:
        attempt(None, _carry_into, self)
        original(self)

    threading.Thread.start = start  # type: ignore[method-assign]


def _carry_into(thread: threading.Thread) -> None:
    current = context.get_current()
    if current:
        # On the instance, because a subclass has a run() of its own.
        thread.run = _within(current, thread.run)  # type: ignore[method-assign]


def _thread_pools() -> None:
    from concurrent.futures import ThreadPoolExecutor

    original: Callable[..., object] = ThreadPoolExecutor.submit

    @functools.wraps(original)
    def submit(self: object, /, *args: object, **kwargs: object) -> object:
        current = attempt(None, context.get_current)
        if current and args and callable(args[0]):
            args = (_carried(current, args[0]), *args[1:])
        return original(self, *args, **kwargs)

    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]


def _within(current: Context, function: Callable[..., R]) -> Callable[..., R]:
    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> R:
        token = attempt(None, context.attach, current)
        try:
            return function(*args, **kwargs)
        finally:
            if token is not None:
                attempt(None, context.detach, token)

    return run


def _carried(current: Context, function: Callable[..., object]) -> Callable[..., object]:
    return attempt(function, lambda: _within(current, function))


def _subprocesses() -> None:
    import subprocess

    original: Callable[..., None] = subprocess.Popen.__init__

    @functools.wraps(original)
    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807  # the method's name
        if len(args) <= _ENV_PLACE:
            given = kwargs.get("env")
            child = attempt(None, _child_environment, given)
            if child is not None:
                kwargs = {**kwargs, "env": child}
        original(self, *args, **kwargs)

    subprocess.Popen.__init__ = __init__  # type: ignore[method-assign]


def _child_environment(given: object) -> dict[str, str] | None:
    """Return the environment of a child, ``None`` where it stays as it is."""
    if sys.platform == "win32":
        return None
    if given is None:
        child = inject_environment()
        return child if any(child.get(name) != os.environ.get(name) for name in _CARRIED) else None
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        return None
    ours = [name for name in _CARRIED if name in os.environ]
    copied = all(given.get(name) == os.environ.get(name) for name in ours)
    # Nothing of ours in our own environment: PATH says whether it is a copy, or one that was made on purpose.
    if not copied or (not ours and given.get("PATH") != os.environ.get("PATH")):
        return None
    return inject_environment(given)


def _multiprocessing() -> None:
    from multiprocessing.process import BaseProcess

    original = BaseProcess.start

    @functools.wraps(original)
    def start(self: BaseProcess) -> None:
        # A spawned child gets the environment of this process, and there is no other way to give it one.
        with _changing:
            before = attempt({}, _change_environment)
            try:
                original(self)
            finally:
                attempt(None, _restore_environment, before)

    BaseProcess.start = start  # type: ignore[method-assign]


def _change_environment() -> dict[str, str | None]:
    child = inject_environment()
    before = {name: os.environ.get(name) for name in _CARRIED}
    _restore_environment({name: child.get(name) for name in _CARRIED})
    return before


def _restore_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
