"""One request through the client library (pydantic-ai, its direct API), and what its errors mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spanproof_evaluators.judges.providers._provider import FailureKind, ProviderError, Reply
from spanproof_evaluators.model.canonical import Plain, plain
from spanproof_evaluators.model.judgements import JudgeUsage

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from opentelemetry.trace import TracerProvider
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryProvider:
    """A model behind the library. Its clients' own retries are off: each request is counted, journaled and priced."""

    model: "Model[Any]"
    seconds: float
    """How long one request may take."""

    tracers: "TracerProvider | None" = None
    """Where spans of the calls go; without content: the journal has it."""

    per_request: bool = True
    """Whether its client is told with each request not to repeat it by itself; if not, it was made so."""

    idempotency_header: str | None = None
    """The header that carries the key of an attempt, where the provider may know one."""

    def opened(self) -> "AbstractAsyncContextManager[object]":
        """Return the block that keeps the client's connections."""
        return self.model

    async def ask(
        self, *, system: str, user: str, schema: Mapping[str, Plain], settings: Mapping[str, Plain], key: str
    ) -> Reply:
        """Send one request and return what came back.

        Raises:
            ProviderError: there is no answer.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import (
            ContentFilterError,
            ModelAPIError,
            ModelRequestTimeout,
            UnexpectedModelBehavior,
        )
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.models.instrumented import InstrumentationSettings
        from pydantic_ai.output import OutputObjectDefinition

        native = bool(self.model.profile.get("supports_json_schema_output"))
        sent = cast("dict[str, Any]", plain(dict(settings)))
        sent["request_timeout"] = self.seconds
        if self.per_request:
            sent |= {"max_retries": 0, "timeout": self.seconds}
        if self.idempotency_header:
            sent["extra_headers"] = {self.idempotency_header: key}
        parameters = ModelRequestParameters(
            output_mode="native" if native else "text",
            output_object=OutputObjectDefinition(
                json_schema=cast("dict[str, Any]", plain(schema)), name="answers", strict=True
            )
            if native
            else None,
        )
        try:
            response = await model_request(
                self.model,
                [ModelRequest(parts=[UserPromptPart(content=user)], instructions=system)],
                model_settings=cast("ModelSettings", sent),
                model_request_parameters=parameters,
                instrument=InstrumentationSettings(
                    tracer_provider=self.tracers, include_content=False, include_model_request_parameters=False
                )
                if self.tracers is not None
                else False,
            )
        except ContentFilterError:
            return Reply(text="", refused=True)
        except (ModelAPIError, ModelRequestTimeout) as error:
            raise failure(error) from error
        except (UnexpectedModelBehavior, LookupError, TypeError, ValueError, AttributeError) as error:
            # what is no answer of its kind fails in the library's own reading, in more ways than it names
            raise ProviderError("server_error", f"an answer that is none: {error}", again=True) from error
        return _reply(response)


def failure(error: Exception) -> ProviderError:
    """Return what an error of the library means."""
    from pydantic_ai import exceptions as of

    text = " ".join(str(error).split())[:500]
    found: tuple[FailureKind, bool]
    match error:
        case of.ModelRateLimitError():
            found = "rate_limited", True
        case of.ModelQuotaExceededError():
            found = "no_credit", False
        case of.ModelContextWindowExceededError():
            found = "too_long", False
        case of.ModelAuthenticationError():
            found = "unauthorized", False
        case of.ModelNotFoundError():
            found = "no_model", False
        case of.ModelRequestRejectedError():
            found = "rejected", False
        case of.ModelTimeoutError() | of.ModelRequestTimeout():
            found = "timeout", True
        case of.ModelConnectionError():
            found = "unreachable", True
        case _:
            found = "server_error", True
    not_sent = isinstance(error, of.ModelConnectionError) and error.phase in ("pool", "connect")
    return ProviderError(
        found[0],
        text,
        again=found[1],
        retry_after=error.retry_after if isinstance(error, of.ModelAPIError) else None,
        unbilled=not_sent or isinstance(error, of.ModelHTTPError),
    )


def _reply(response: "ModelResponse") -> Reply:
    from pydantic_ai.messages import TextPart

    usage = response.usage
    # the library counts 0 where a provider said nothing: no request takes no input
    counted = usage.input_tokens > 0
    return Reply(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        refused=response.finish_reason == "content_filter",
        cut_off=response.finish_reason == "length",
        usage=JudgeUsage(
            input_tokens=usage.input_tokens if counted else None,
            output_tokens=usage.output_tokens if counted else None,
        ),
        served_model=response.model_name,
    )
