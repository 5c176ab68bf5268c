"""Publishing: verdicts into any OpenTelemetry backend, as ``gen_ai.evaluation.result`` events under their spans."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Protocol

import grpc
import requests
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import SEVERITY_NUMBER_INFO, LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from urllib3.util import Retry

from spanproof_evaluators.errors import PublishError
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import OUTCOME
from spanproof_evaluators.model.results import Result
from spanproof_instrumentation import semconv

SERVICE: Final = "spanproof"
_RECORDS_A_REQUEST: Final = 500
_SECONDS: Final = 10.0
_RETRIED: Final = (429, 502, 503, 504)
"""What OTLP says may be sent again."""


class Sender(Protocol):
    """Sends one request; returns how many of its records were turned down, and why."""

    def __call__(self, request: ExportLogsServiceRequest, /) -> tuple[int, str]:
        """Send it."""


def publish(assessments: Iterable[Assessment], send: Sender, *, at: int) -> tuple[int, int, str]:
    """Send every word on these trials; return how many were taken, how many turned down, and why.

    Args:
        assessments: the trials with their stored verdicts.
        send: to where.
        at: the time of the events, in Unix nanoseconds.

    Raises:
        PublishError: the endpoint cannot be reached or refuses a request.
    """
    taken = refused = 0
    why = ""
    rest = records(assessments, at)
    while some := list(islice(rest, _RECORDS_A_REQUEST)):
        rejected, message = send(_request(some))
        taken += len(some) - rejected
        refused += rejected
        why = message or why
    return taken, refused, why


def records(assessments: Iterable[Assessment], at: int) -> Iterator[LogRecord]:
    """Yield a log record for each word on each trial, under the first span that it rests on."""
    for one in assessments:
        for result in one.all_results:
            yield _record(one, result, at)


def _record(one: Assessment, result: Result, at: int) -> LogRecord:
    trace_id, span_id = _place(one, result)
    attributes: dict[str, str | float] = {
        semconv.EVALUATION_NAME: result.evaluator,
        semconv.EVALUATION_LABEL: result.state,
        semconv.EVALUATION_EVALUATOR: result.evaluator,
        semconv.EVALUATION_VERSION: result.version,
        semconv.EVALUATION_KIND: result.kind,
        semconv.EVALUATION_STATE: result.state,
        semconv.EVALUATION_TRIAL: one.trial.trial_id,
    }
    if result.explanation:
        attributes[semconv.EVALUATION_EXPLANATION] = result.explanation
    if result.reason:
        attributes[semconv.EVALUATION_REASON] = result.reason
    if result.state == "unavailable":
        attributes[semconv.ERROR_TYPE] = result.reason or "unavailable"
    elif result.score is not None:
        attributes[semconv.EVALUATION_SCORE] = result.score
    return LogRecord(
        time_unix_nano=at,
        observed_time_unix_nano=at,
        severity_number=SEVERITY_NUMBER_INFO,
        event_name=semconv.EVENT_EVALUATION_RESULT,
        trace_id=trace_id,
        span_id=span_id,
        attributes=[KeyValue(key=key, value=_value(value)) for key, value in attributes.items()],
    )


def _place(one: Assessment, result: Result) -> tuple[bytes, bytes]:
    """Return trace and span that a word is of: the first that it rests on, else the claim's, else the trial's first."""
    trial = one.trial
    traces = {step.span_id: step.trace_id for step in trial.steps}
    wanted = [*result.span_ids]
    if result.evaluator == OUTCOME and trial.claim.span_id:
        wanted.append(trial.claim.span_id)
    wanted += [step.span_id for step in trial.steps[:1]]
    span = next((span for span in wanted if span in traces), None)
    if span is not None:
        return bytes.fromhex(traces[span]), bytes.fromhex(span)
    return (bytes.fromhex(trial.trace_ids[0]) if trial.trace_ids else b""), b""


def _value(value: str | float) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value.encode("utf-8", "replace").decode("utf-8"))
    return AnyValue(double_value=value)


def _request(some: Sequence[LogRecord]) -> ExportLogsServiceRequest:
    service = KeyValue(key=semconv.SERVICE_NAME, value=AnyValue(string_value=SERVICE))
    scope = InstrumentationScope(name="spanproof.evaluators")
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(resource=Resource(attributes=[service]), scope_logs=[ScopeLogs(scope=scope, log_records=some)])
        ]
    )


def sender(endpoint: str, headers: Sequence[tuple[str, str]] = ()) -> Sender:
    """Return what sends to an endpoint: over HTTP for ``http`` and ``https``, over gRPC for ``grpc`` and ``grpcs``.

    Raises:
        PublishError: the endpoint is none.
    """
    scheme, _, place = endpoint.partition("://")
    if not place:
        raise PublishError(f"{endpoint!r} is no endpoint. Give http://HOST:4318, grpc://HOST:4317, or https, grpcs")
    if scheme in ("http", "https"):
        return _over_http(endpoint, headers)
    if scheme in ("grpc", "grpcs"):
        return _over_grpc(place, headers, secure=scheme == "grpcs")
    raise PublishError(f"{scheme}:// is no protocol of OTLP. Give http://, https://, grpc:// or grpcs://")


def _over_http(endpoint: str, headers: Sequence[tuple[str, str]]) -> Sender:
    url = endpoint if endpoint.endswith("/v1/logs") else f"{endpoint.rstrip('/')}/v1/logs"
    session = requests.Session()
    again = Retry(
        total=5,
        connect=1,
        backoff_factor=0.5,
        status_forcelist=_RETRIED,
        allowed_methods=["POST"],
        raise_on_status=False,
    )
    for prefix in ("http://", "https://"):
        session.mount(prefix, requests.adapters.HTTPAdapter(max_retries=again))
    session.headers.update({**dict(headers), "Content-Type": "application/x-protobuf"})

    def send(request: ExportLogsServiceRequest) -> tuple[int, str]:
        try:
            answer = session.post(url, data=request.SerializeToString(), timeout=_SECONDS)
        except requests.RequestException as error:
            raise PublishError(f"{url} cannot be reached: {error}") from error
        if answer.status_code != 200:
            raise PublishError(f"{url} answered {answer.status_code} {answer.reason}; check the address and --header")
        try:
            partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
        except DecodeError as error:
            raise PublishError(f"what answers at {url} does not speak OTLP: {error}") from error
        return partial.rejected_log_records, partial.error_message

    return send


def _over_grpc(place: str, headers: Sequence[tuple[str, str]], *, secure: bool) -> Sender:
    channel = grpc.secure_channel(place, grpc.ssl_channel_credentials()) if secure else grpc.insecure_channel(place)
    stub = LogsServiceStub(channel)  # type: ignore[no-untyped-call]  # generated code
    metadata = [(key.lower(), value) for key, value in headers]

    def send(request: ExportLogsServiceRequest) -> tuple[int, str]:
        try:
            answer: ExportLogsServiceResponse = stub.Export(request, timeout=_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            told = error.details() if isinstance(error, grpc.Call) else str(error)
            raise PublishError(f"grpc://{place} did not take it: {told}") from error
        return answer.partial_success.rejected_log_records, answer.partial_success.error_message

    return send
