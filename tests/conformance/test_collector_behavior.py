"""What the OpenTelemetry Collector's OTLP receiver does where the specification is silent, and senders rely on it."""

import inspect
import socket

import click
import pytest
from google.rpc import code_pb2

from spanproof_collector.errors import CollectorError, DecodeError, StoreError, StoreUnreachableError
from spanproof_collector.otlp import TooLargeError
from spanproof_collector.pipeline import BusyError
from spanproof_collector.server.access import ForbiddenError, UnauthenticatedError
from spanproof_collector.server.answers import Failure
from spanproof_collector.server.serve import serve
from spanproof_evaluators.cli.group import cli
from tests.collector.server.conftest import Listening
from tests.collector.server.posting import JSON, PROTOBUF, ask
from tests.conformance.tables import missing
from tests.factories import span, traces

BODY = traces(span("a")).SerializeToString()

ROWS = {
    "405 in plain text for anything but POST": "test_anything_but_a_post_is_405_in_plain_text",
    "415 in plain text for another content type": "test_another_content_type_is_415_in_plain_text",
    "400 for what cannot be unmarshaled": (
        "conformance/test_otlp_specification.py::test_bytes_that_are_no_request_are_bad_data_in_their_form"
    ),
    "404 for another path": "test_another_path_is_404_in_plain_text",
    "the gRPC status decides the HTTP status": "test_a_code_has_the_same_http_status_as_with_the_collector",
    "a plain error is UNAVAILABLE, 503": (
        "conformance/test_otlp_specification.py::test_what_nobody_foresaw_before_the_store_is_worth_another_attempt"
    ),
    "an error marked permanent is INTERNAL, 500": (
        "conformance/test_otlp_specification.py::test_only_what_can_never_be_stored_is_final"
    ),
    "Retry-After only together with RetryInfo": "test_retry_after_and_retry_info_come_together_or_not_at_all",
    "binds localhost by default": "test_the_default_is_loopback",
    "a sender that goes away": "test_a_sender_that_goes_away_in_the_middle_harms_nobody",
}


def test_every_row_has_its_test() -> None:
    assert missing(ROWS, __file__) == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_anything_but_a_post_is_405_in_plain_text(server: Listening, method: str, path: str) -> None:
    answer = ask(server.addresses, path, BODY if method in ("PUT", "PATCH") else b"", PROTOBUF, method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_another_content_type_is_415_in_plain_text(server: Listening, path: str, content_type: str) -> None:
    answer = ask(server.addresses, path, BODY, {"Content-Type": content_type} if content_type else {})
    assert answer.status == 415
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"send application/x-protobuf or application/json" in answer.body
    assert content_type.encode() in answer.body


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/profiles", "/v1/traces/x", "//v1/traces", "/V1/TRACES"])
def test_another_path_is_404_in_plain_text(server: Listening, path: str) -> None:
    answer = ask(server.addresses, path, BODY)
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"/v1/traces" in answer.body


_ERRORS: list[tuple[Exception, str, int]] = [
    (DecodeError("bad"), "INVALID_ARGUMENT", 400),
    (UnauthenticatedError("who"), "UNAUTHENTICATED", 401),
    (ForbiddenError("no"), "PERMISSION_DENIED", 403),
    (TooLargeError(1), "RESOURCE_EXHAUSTED", 413),
    (StoreError("no"), "INTERNAL", 500),
    (BusyError("later"), "UNAVAILABLE", 503),
    (StoreUnreachableError("here", "gone"), "UNAVAILABLE", 503),
    (CollectorError("something"), "UNAVAILABLE", 503),
    (ValueError("nobody foresaw this"), "UNAVAILABLE", 503),
]


@pytest.mark.parametrize(("error", "name", "status"), _ERRORS, ids=lambda value: type(value).__name__)
def test_a_code_has_the_same_http_status_as_with_the_collector(error: Exception, name: str, status: int) -> None:
    failure = Failure(error)
    assert (failure.name, failure.http_status) == (name, status)
    assert failure.status.code == code_pb2.Code.Value(name)


@pytest.mark.parametrize(("error", "name", "status"), _ERRORS, ids=lambda value: type(value).__name__)
def test_retry_after_and_retry_info_come_together_or_not_at_all(error: Exception, name: str, status: int) -> None:
    failure = Failure(error)
    retryable = status == 503
    assert ("Retry-After" in failure.headers) == (failure.retry_info is not None) == retryable
    assert bool(failure.status.details) == retryable


def test_the_default_is_loopback() -> None:
    assert inspect.signature(serve).parameters["host"].default == "127.0.0.1"
    command = cli.get_command(click.Context(cli), "serve")
    assert command is not None
    assert {option.name: option.default for option in command.params}["host"] == "127.0.0.1"


def test_a_sender_that_goes_away_in_the_middle_harms_nobody(server: Listening) -> None:
    before = server.collector.pipeline.load
    for sent in (b"", b'{"resourceSpans"'):
        with socket.create_connection((server.addresses.host, server.addresses.http_port), timeout=20) as connection:
            head = (
                "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
            )
            connection.sendall(head.encode() + sent)
    assert ask(server.addresses, "/v1/traces", b"{}", JSON).status == 200
    assert server.collector.pipeline.load == before
