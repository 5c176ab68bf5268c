"""The one tracer provider of the process: the agent's where it has one, whenever it comes, else ours.

OpenTelemetry lets a provider be set once. So ours waits: it is set when a span starts and there is none. A provider
that the agent sets before is kept and gets our processor beside its own. One that it sets after takes ours' place,
and the spans of tracers that were made before go through it too.

This rests on three private names of ``opentelemetry.trace``: ``_set_tracer_provider``, ``_PROXY_TRACER_PROVIDER`` and
``_TRACER_PROVIDER``; tests hold both orders. Where they are missing, ours is set at once.
"""

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from opentelemetry import trace
from opentelemetry.trace import Tracer, TracerProvider
from opentelemetry.util.types import Attributes

from spanproof_instrumentation.barrier import attempt, tell_once

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider

_Set = Callable[[TracerProvider, bool], None]
_PRIVATE = ("_set_tracer_provider", "_PROXY_TRACER_PROVIDER", "_TRACER_PROVIDER")


@runtime_checkable
class _Extensible(Protocol):
    def add_span_processor(self, span_processor: "SpanProcessor", /) -> None: ...


class GlobalProvider:
    """Keeps whatever provider there is, and our processor on it."""

    def __init__(self, make: "Callable[[], SdkProvider]", processor: "Callable[[], SpanProcessor]") -> None:
        self._make = make
        self._make_processor = processor
        self._processor: SpanProcessor | None = None
        self._own: SdkProvider | None = None
        self._replaced = False
        self._set_original: _Set | None = None
        self._failed = False
        self._setting = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def install(self, *, at_once: bool) -> None:
        """Keep the provider that is set; without one wait for one, or set ours at once."""
        present = trace.get_tracer_provider()
        if not isinstance(present, trace.ProxyTracerProvider):
            self._adopt(present)
            return
        if not all(hasattr(trace, name) for name in _PRIVATE):
            self._own = self._provided()
            trace.set_tracer_provider(self._own)
            return
        self._set_original = trace._set_tracer_provider
        trace._set_tracer_provider = self._set  # type: ignore[assignment]
        if at_once:
            self.ensure()
        else:
            trace._PROXY_TRACER_PROVIDER = _Waiting(self)

    def ensure(self) -> None:
        """Set our provider where none is set yet; runs when a span starts, in any thread."""
        if trace._TRACER_PROVIDER is not None or self._set_original is None:
            return
        with self._setting:
            if trace._TRACER_PROVIDER is None and not self._failed:
                self._failed = True  # once is enough to fail, and to be told
                own = self._provided()
                self._failed = False
                self._own = own
                self._set_original(own, False)

    def _renew(self) -> None:
        self._setting = threading.RLock()

    def _set(self, provider: TracerProvider, log: bool) -> None:
        """Set a provider for the agent, in place of ``opentelemetry.trace._set_tracer_provider``."""
        late = self._own is not None and trace._TRACER_PROVIDER is self._own and provider is not self._own
        if late and not self._replaced and attempt(False, self._replace, provider):
            return
        before = trace._TRACER_PROVIDER
        if self._set_original is not None:
            self._set_original(provider, log)
        if before is None and trace._TRACER_PROVIDER is provider:
            attempt(None, self._adopt, provider)

    def _adopt(self, provider: TracerProvider) -> None:
        if isinstance(provider, _Extensible):
            _add(provider, self._one_processor())
            return
        tell_once(
            f"spanproof: no span will be exported, because the tracer provider that is set ({type(provider).__name__}) "
            "takes no span processors. Call configure() before it, or set one of the OpenTelemetry SDK"
        )

    def _replace(self, provider: TracerProvider) -> bool:
        own = self._own
        if own is None or not isinstance(provider, _Extensible):
            return False
        _add(provider, self._one_processor())
        theirs = _processors_of(provider)
        if theirs is not None:
            # Tracers that were made before the agent set its provider go on, and its exporters get their spans.
            own._active_span_processor._span_processors = (theirs,)
            resource = getattr(_inside(provider), "resource", None)
            if resource is not None:
                attempt(None, own._update_resource, resource)
        trace._TRACER_PROVIDER = provider
        self._replaced = True
        return True

    def _provided(self) -> "SdkProvider":
        own = self._make()
        own.add_span_processor(self._one_processor())
        return own

    def _one_processor(self) -> "SpanProcessor":
        if self._processor is None:
            self._processor = self._make_processor()
        return self._processor


class _Waiting(trace.ProxyTracerProvider):
    """What there is before a provider: its tracers set ours when they start a span and there is still none."""

    def __init__(self, keeper: GlobalProvider) -> None:
        self._keeper = keeper

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Attributes = None,
    ) -> Tracer:
        made = super().get_tracer(instrumenting_module_name, instrumenting_library_version, schema_url, attributes)
        if not isinstance(made, trace.ProxyTracer):
            return made
        return _WaitingTracer(
            self._keeper, instrumenting_module_name, instrumenting_library_version, schema_url, attributes
        )


class _WaitingTracer(trace.ProxyTracer):
    def __init__(
        self,
        keeper: GlobalProvider,
        name: str,
        version: str | None,
        schema_url: str | None,
        attributes: Attributes,
    ) -> None:
        super().__init__(name, version, schema_url, attributes)
        self._keeper = keeper

    @property
    def _tracer(self) -> Tracer:
        attempt(None, self._keeper.ensure)
        return super()._tracer


def _add(provider: _Extensible, processor: "SpanProcessor") -> None:
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider

    if isinstance(provider, SdkProvider):
        # Not the provider's own method: Phoenix's throws its exporter away when another processor is added.
        SdkProvider.add_span_processor(provider, processor)
    else:
        provider.add_span_processor(processor)


def _processors_of(provider: TracerProvider) -> "SpanProcessor | None":
    return cast("SpanProcessor | None", getattr(_inside(provider), "_active_span_processor", None))


def _inside(provider: TracerProvider) -> object:
    return getattr(provider, "provider", provider)  # Logfire's is a shell around one of the SDK
