"""The logger provider, where message content was asked for as events: the agent's where it has one, else ours.

As with tracers, ours waits until a record is emitted and there is none. It rests on private names of
``opentelemetry._logs``; tests hold both orders.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from opentelemetry._logs import Logger, LoggerProvider
from opentelemetry._logs import _internal as logs
from opentelemetry.util.types import Attributes

from spanproof_instrumentation.barrier import attempt, tell_once

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider as SdkProvider

    from spanproof_instrumentation.delivery import LogDelivery


def keep_logger_provider(make: "Callable[[], SdkProvider]", delivery: "Callable[[], LogDelivery]") -> None:
    """Keep the logger provider that is set; without one wait for one until a record is emitted."""
    present = logs.get_logger_provider()
    if not isinstance(present, logs.ProxyLoggerProvider):
        _adopt(present, delivery())
        return
    keeper = _Keeper(make, delivery)
    logs._set_logger_provider = keeper.set  # type: ignore[assignment]
    logs._PROXY_LOGGER_PROVIDER = _Waiting(keeper)


class _Keeper:
    def __init__(self, make: "Callable[[], SdkProvider]", delivery: "Callable[[], LogDelivery]") -> None:
        self._make = make
        self._make_delivery = delivery
        self._delivery: LogDelivery | None = None
        self._own: SdkProvider | None = None
        self._set_original = logs._set_logger_provider

    def ensure(self) -> None:
        """Set our provider where none is set yet; runs when a record is emitted."""
        if logs._LOGGER_PROVIDER is None:
            own = self._make()
            _adopt(own, self._one_delivery())
            self._own = own
            self._set_original(own, False)

    def set(self, provider: LoggerProvider, log: bool) -> None:
        """Set a provider for the agent."""
        if self._own is not None and logs._LOGGER_PROVIDER is self._own and provider is not self._own:
            if attempt(False, _adopt, provider, self._one_delivery()):
                attempt(None, self._hand_over, self._own, provider)
                logs._LOGGER_PROVIDER = provider
            return
        before = logs._LOGGER_PROVIDER
        self._set_original(provider, log)
        if before is None and logs._LOGGER_PROVIDER is provider:
            attempt(False, _adopt, provider, self._one_delivery())

    def _hand_over(self, own: "SdkProvider", provider: LoggerProvider) -> None:
        # Records of loggers that were made before go where the agent's go, and with them to us.
        theirs = getattr(provider, "_multi_log_record_processor", None)
        if theirs is not None:
            own._multi_log_record_processor._log_record_processors = (theirs,)

    def _one_delivery(self) -> "LogDelivery":
        if self._delivery is None:
            self._delivery = self._make_delivery()
        return self._delivery


class _Waiting(logs.ProxyLoggerProvider):
    def __init__(self, keeper: _Keeper) -> None:
        self._keeper = keeper

    def get_logger(
        self,
        name: str,
        version: str | None = None,
        schema_url: str | None = None,
        attributes: Attributes = None,
    ) -> Logger:
        made = super().get_logger(name, version, schema_url, attributes)
        if not isinstance(made, logs.ProxyLogger):
            return made
        return _WaitingLogger(self._keeper, name, version, schema_url, attributes)


class _WaitingLogger(logs.ProxyLogger):
    def __init__(
        self, keeper: _Keeper, name: str, version: str | None, schema_url: str | None, attributes: Attributes
    ) -> None:
        super().__init__(name, version, schema_url, attributes)
        self._keeper = keeper

    @property
    def _logger(self) -> Logger:
        attempt(None, self._keeper.ensure)
        return super()._logger


def _adopt(provider: LoggerProvider, delivery: "LogDelivery") -> bool:
    add: object = getattr(provider, "add_log_record_processor", None)
    if not callable(add):
        tell_once(
            f"spanproof: no event will be exported, because the logger provider that is set "
            f"({type(provider).__name__}) takes no processors"
        )
        return False
    add(delivery)
    return True
