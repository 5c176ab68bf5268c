"""Labels of a trial: task, trial, attempt, variant, suite, carried in baggage to every span and child process."""

import os
from collections.abc import Mapping, MutableMapping
from contextvars import Token
from types import TracebackType
from typing import Final

from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from spanproof_instrumentation import semconv
from spanproof_instrumentation.barrier import attempt, forgiving, tell_once

_NAMES: Final = frozenset({semconv.TASK_ID, semconv.TRIAL_ID, semconv.ATTEMPT, semconv.VARIANT, semconv.SUITE})
_CARRIED: Final = ("traceparent", "tracestate", "baggage")


class labels:  # noqa: N801  # used as a verb: `with labels(task=…)`
    """Label every span that starts inside, here and in child processes that get ``inject_environment``.

    Inner labels add to outer ones and win over them. Any further keyword becomes ``spanproof.label.<keyword>``.
    """

    @forgiving()
    def __init__(
        self,
        *,
        task: str | None = None,
        trial: str | None = None,
        attempt: int | None = None,
        variant: str | None = None,
        suite: str | None = None,
        **more: str,
    ) -> None:
        self._given: dict[str, object] = {
            semconv.TASK_ID: task,
            semconv.TRIAL_ID: trial,
            semconv.ATTEMPT: attempt,
            semconv.VARIANT: variant,
            semconv.SUITE: suite,
            **{semconv.LABEL_PREFIX + key: value for key, value in more.items()},
        }
        self._tokens: list[Token[Context]] = []

    def __enter__(self) -> None:
        attempt(None, self._attach)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        attempt(None, self._detach)

    def _attach(self) -> None:
        current = context.get_current()
        for name, value in self._given.items():
            if value is None:
                continue
            if name == semconv.ATTEMPT:
                right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            else:
                right = isinstance(value, str) and bool(value)
            if right:
                current = baggage.set_baggage(name, str(value), current)
            else:
                tell_once(f"spanproof: label {name} was dropped: {value!r} is of the wrong type")
        self._tokens.append(context.attach(current))

    def _detach(self) -> None:
        if self._tokens:
            context.detach(self._tokens.pop())


def labels_of(current: Context | None) -> dict[str, str | int]:
    """Return the labels that a context carries, as span attributes."""
    found: dict[str, str | int] = {}
    for name, value in baggage.get_all(current).items():
        if name == semconv.ATTEMPT:
            if str(value).isdecimal():
                found[name] = int(str(value))
        elif name in _NAMES or name.startswith(semconv.LABEL_PREFIX):
            found[name] = str(value)
    return found


def inject_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a copy of the environment (by default this process's) that carries trace and labels to a child process."""
    child = dict(os.environ if environment is None else environment)
    return attempt(child, _inject, child)


def extract_environment(environment: Mapping[str, str] | None = None) -> Context:
    """Return the context that the environment carries: its TRACEPARENT and its BAGGAGE."""
    return attempt(context.get_current(), _extract, os.environ if environment is None else environment)


def _inject(environment: MutableMapping[str, str]) -> dict[str, str]:
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    W3CBaggagePropagator().inject(carrier)
    carried = {name.upper(): value for name, value in carrier.items()}
    # A variable that this process was given itself must not reach the child as if it were of the current span.
    kept = {name: value for name, value in environment.items() if name.lower() not in _CARRIED}
    return kept | carried


def _extract(environment: Mapping[str, str]) -> Context:
    carrier = {name: environment[name.upper()] for name in _CARRIED if name.upper() in environment}
    return W3CBaggagePropagator().extract(carrier, TraceContextTextMapPropagator().extract(carrier))
