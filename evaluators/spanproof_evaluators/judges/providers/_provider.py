"""What a provider is: it takes one request to a model, once, and returns what came back."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.judgements import JudgeUsage

FailureKind = Literal[
    "rate_limited",
    "server_error",
    "timeout",
    "unreachable",
    "rejected",
    "too_long",
    "unauthorized",
    "no_model",
    "no_credit",
]
FATAL: Final[tuple[FailureKind, ...]] = ("unauthorized", "no_model", "no_credit")
"""What every further request would come to as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered. Nothing in it has been read yet."""

    text: str
    """Empty where the model said nothing."""

    refused: bool = False
    """The provider or the model declined to answer."""

    cut_off: bool = False
    """The answer ran into the limit on its length."""

    usage: JudgeUsage = field(default_factory=JudgeUsage)
    served_model: str | None = None


class ProviderError(Exception):
    """A request without an answer: what went wrong, whether it may be sent again, and when."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        again: bool = False,
        retry_after: float | None = None,
        unbilled: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.again = again
        """Whether the same request may succeed later."""

        self.retry_after = retry_after
        """Seconds that the provider asks for."""

        self.unbilled = unbilled
        """True where the request did not arrive, or the answer was an error status: nothing is billed for those."""

    @property
    def fatal(self) -> bool:
        """Whether every further request would come to the same."""
        return self.kind in FATAL


class Provider(Protocol):
    """Sends requests to one model."""

    def opened(self) -> AbstractAsyncContextManager[object]:
        """Return a block inside of which requests may be sent; its connections are closed when it ends."""

    async def ask(
        self, *, system: str, user: str, schema: Mapping[str, Plain], settings: Mapping[str, Plain], key: str
    ) -> Reply:
        """Send one request and return what came back.

        Args:
            system: instructions.
            user: data.
            schema: JSON Schema of the answer, enforced by the provider where it can.
            settings: temperature, seed, max_tokens, extra_body.
            key: an idempotency key: the same for the same attempt, also after a crash.

        Raises:
            ProviderError: there is no answer.
        """
