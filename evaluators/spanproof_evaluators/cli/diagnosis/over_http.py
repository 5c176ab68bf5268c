"""The steps over HTTP: is it our server, is it ready, does its clock agree, does it take a span and give it back?"""

import time
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote

from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanproof_collector.model.filters import DOCTOR_PROJECT
from spanproof_evaluators.cli.diagnosis.asking import Answer, ask
from spanproof_evaluators.cli.diagnosis.findings import Finding, TroubleError
from spanproof_evaluators.cli.diagnosis.probe import Probe
from spanproof_evaluators.cli.diagnosis.target import Target

_SKEW_SECONDS: Final = 5.0


def find_server(target: Target) -> Finding:
    """Look whether a spanproof answers.

    Raises:
        TroubleError: none does.
    """
    answer = ask(target, "GET", "/healthz", {})
    if answer.status != 200 or answer.member("server") != "spanproof":
        raise TroubleError(
            f"something else than spanproof answers at {target.http}: /healthz gives {answer.status}",
            "Find out which server has the port (another OpenTelemetry collector?), and start spanproof with another: "
            "--http-port, --grpc-port",
        )
    return Finding(
        step="server", state="ok", explanation=f"spanproof {answer.member('version')} answers at {target.http}"
    )


def look_at_readiness(target: Target) -> Finding:
    """Look whether it takes requests.

    Raises:
        TroubleError: it does not say so.
    """
    answer = ask(target, "GET", "/readyz", {})
    if answer.status != 200:
        raise TroubleError(
            f"the server is not ready: {answer.member('reason') or answer.status}",
            "Senders keep their spans meanwhile. Look at the server's log, at the disk of its store, or at ClickHouse",
        )
    return Finding(step="ready", state="ok", explanation="it takes requests, and its store answers")


def compare_clocks(target: Target) -> Finding:
    """Look how far the server's clock is from this one.

    Raises:
        TroubleError: too far.
    """
    before = time.time()
    answer = ask(target, "GET", "/healthz", {})
    after = time.time()
    try:
        there = parsedate_to_datetime(answer.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return Finding(step="clock", state="skipped", explanation="the server does not say what time it is")
    # The header has whole seconds: the time was anywhere in the second after it.
    skew = there - after if there > after else min(there + 1 - before, 0.0)
    if abs(skew) > _SKEW_SECONDS:
        raise TroubleError(
            f"the server's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this one",
            "Set both by NTP. Times are stored as they are sent, so spans of several machines would not line up",
        )
    return Finding(step="clock", state="ok", explanation="the clocks agree to the second")


def send(target: Target, probe: Probe) -> Finding:
    """Send a span.

    Raises:
        TroubleError: it was not taken.
    """
    headers = {"Content-Type": "application/x-protobuf", **bearer(target.token)}
    answer = ask(target, "POST", f"{target.http.path}/v1/traces", headers, probe.body)
    if answer.status != 200:
        raise _refused(target, answer)
    told = ExportTraceServiceResponse.FromString(answer.body).partial_success
    if told.rejected_spans:
        raise TroubleError(f"the server rejected the span: {told.error_message}", "Please report this")
    return Finding(step="send over HTTP", state="ok", explanation="a span was acknowledged")


def read_back(target: Target, probe: Probe, step: str) -> Finding:
    """Ask the server for the span.

    Raises:
        TroubleError: it does not have it.
    """
    found = span_ids(target, DOCTOR_PROJECT, probe.trace_id)
    if isinstance(found, str):
        return Finding(step=step, state="skipped", explanation=found, advice=_MAY_NOT_READ)
    if len(found) != 1:
        raise TroubleError(
            "the server acknowledged the span and does not have it",
            "Look at its log. Two servers that share an address would look like this: stop one",
        )
    return Finding(step=step, state="ok", explanation="the server has it in its store")


def span_ids(target: Target, project: str, trace_id: str) -> set[str] | str:
    """Return the spans of a trace that the server has; in words why it may not be asked.

    Raises:
        TroubleError: it cannot say.
    """
    path = f"/api/traces/{trace_id}?project={quote(project, safe='')}"
    answer = ask(target, "GET", path, bearer(target.read_token or target.token))
    match answer.status:
        case 200:
            spans = answer.member("spans")
            return {each["span_id"] for each in spans} if isinstance(spans, list) else set()
        case 404:
            return set()
        case 401 | 403:
            return f"the server does not let it be read: {answer.member('message')}"
        case status:
            raise TroubleError(
                f"the server cannot look for the span ({status}): {answer.member('message')}",
                "Look at the server's log",
            )


_MAY_NOT_READ: Final = "Give a token for reading: --read-token, or SPANPROOF_READ_TOKEN"


def bearer(token: str | None) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _refused(target: Target, answer: Answer) -> TroubleError:
    try:
        said = Status.FromString(answer.body).message
    except DecodeError:
        said = answer.body[:200].decode(errors="replace").strip()
    explanation = f"the span was not taken, {answer.status}: {said}"
    match answer.status:
        case 401 | 403:
            return TroubleError(explanation, token_advice(target))
        case 404:
            return TroubleError(explanation, f"Give the server's own address, without {target.http.path or 'a path'}")
        case 503 | 429:
            return TroubleError(
                explanation, "Senders keep their spans and come again. Look at /readyz and the server's log"
            )
        case _:
            return TroubleError(explanation, "Look at the server's log")


def token_advice(target: Target) -> str:
    """Return what to do about a token that is missing, unknown or for something else."""
    if target.token is None:
        return (
            "Give one with --token or SPANPROOF_TOKEN, and agents OTEL_EXPORTER_OTLP_HEADERS="
            "'authorization=Bearer%20TOKEN'. Make one where the store is: spanproof token add NAME"
        )
    return (
        "Make another where the store is, 'spanproof token add NAME', and list the valid ones: 'spanproof token list'"
    )
