"""TLS on both ports, with certificates made for the test and the exporters of the SDK as clients."""

import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import trustme
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanproof_collector.errors import ServeError
from spanproof_collector.server.serve import Addresses, Tls, serve
from spanproof_collector.store import Store
from tests.collector.server.conftest import Listen


@dataclass(frozen=True, kw_only=True)
class Files:
    """An authority, a certificate of its for 127.0.0.1, and one for a client."""

    authority: Path
    tls: Tls
    client: Path
    client_key: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return files in PEM."""
    folder = tmp_path_factory.mktemp("tls")
    made = trustme.CA()
    server, client = made.issue_cert("127.0.0.1"), made.issue_cert("agent@example.com")
    made.cert_pem.write_to_path(folder / "ca.pem")
    with (folder / "server.pem").open("wb") as chain:
        for blob in server.cert_chain_pems:
            chain.write(blob.bytes())
    server.private_key_pem.write_to_path(folder / "server.key")
    client.cert_chain_pems[0].write_to_path(folder / "client.pem")
    client.private_key_pem.write_to_path(folder / "client.key")
    return Files(
        authority=folder / "ca.pem",
        tls=Tls(certificate=folder / "server.pem", key=folder / "server.key"),
        client=folder / "client.pem",
        client_key=folder / "client.key",
    )


@pytest.fixture(autouse=True)
def _no_other_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    # With these, the exporter's HTTP library does not look at the certificate that the exporter gives it.
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)


def _exporter(to: Addresses, protocol: str, files: Files, *, with_client: bool = False) -> SpanExporter:
    if protocol == "grpc":
        credentials = grpc.ssl_channel_credentials(
            files.authority.read_bytes(),
            files.client_key.read_bytes() if with_client else None,
            files.client.read_bytes() if with_client else None,
        )
        return GrpcSpanExporter(endpoint=to.grpc, credentials=credentials, timeout=2)
    return HttpSpanExporter(
        endpoint=f"{to.http}/v1/traces",
        certificate_file=str(files.authority),
        client_certificate_file=str(files.client) if with_client else None,
        client_key_file=str(files.client_key) if with_client else None,
        timeout=2,
    )


def _send(exporter: SpanExporter) -> tuple[str, SpanExportResult]:
    results: list[SpanExportResult] = []

    class Watching(SimpleSpanProcessor):
        def on_end(self, span: object) -> None:
            results.append(exporter.export([span]))  # type: ignore[list-item]

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Watching(exporter))
    with provider.get_tracer("agent").start_as_current_span("run") as run:
        pass
    provider.shutdown()
    return f"{run.get_span_context().trace_id:032x}", results[0]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_an_exporter_that_trusts_the_authority_sends_over_tls(
    listen: Listen, store: Store, files: Files, protocol: str
) -> None:
    to = listen(store, tls=files.tls).addresses
    assert (to.grpc, to.http) == (f"https://127.0.0.1:{to.grpc_port}", f"https://127.0.0.1:{to.http_port}")
    trace, result = _send(_exporter(to, protocol, files))
    assert result is SpanExportResult.SUCCESS
    assert [each.name for each in store.read_traces([("default", trace)])["default", trace].spans] == ["run"]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("with_client", [True, False])
def test_a_client_authority_lets_in_its_own_clients_only(
    listen: Listen, store: Store, files: Files, protocol: str, with_client: bool
) -> None:
    tls = Tls(certificate=files.tls.certificate, key=files.tls.key, client_authority=files.authority)
    _, result = _send(_exporter(listen(store, tls=tls).addresses, protocol, files, with_client=with_client))
    assert result is (SpanExportResult.SUCCESS if with_client else SpanExportResult.FAILURE)


def test_a_client_that_does_not_know_the_authority_or_speaks_no_tls_gets_nothing(
    listen: Listen, store: Store, files: Files
) -> None:
    to = listen(store, tls=files.tls).addresses
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"{to.http}/healthz", context=ssl.create_default_context(), timeout=10)
    with pytest.raises(OSError, match=r"."):
        urllib.request.urlopen(f"http://127.0.0.1:{to.http_port}/healthz", timeout=10)


def _never(addresses: Addresses) -> None:
    raise AssertionError(f"the server came up: {addresses}")


@pytest.mark.parametrize(
    ("certificate", "key", "authority", "said"),
    [
        ("server.pem", "missing.key", None, "--tls-key .*missing.key cannot be read: No such file"),
        ("server.pem", "client.key", None, "do not belong together"),
        ("ca.txt", "server.key", None, "no certificate and key in PEM"),
        ("server.pem", "locked.key", None, "locked with a password"),
        ("server.pem", "server.key", "ca.txt", "--tls-client-ca .* holds no certificate"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_before_anything_listens(
    files: Files, tmp_path: Path, certificate: str, key: str, authority: str | None, said: str
) -> None:
    folder = files.authority.parent
    (folder / "ca.txt").write_text("not a certificate")
    _lock(files.tls.key, folder / "locked.key")
    tls = Tls(
        certificate=folder / certificate, key=folder / key, client_authority=folder / authority if authority else None
    )
    with pytest.raises(ServeError, match=said):
        serve(f"chdb://{tmp_path}/store", grpc_port=0, http_port=0, on_ready=_never, tls=tls)
    assert not (tmp_path / "store").exists()


def _lock(key: Path, locked: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    made = serialization.load_pem_private_key(key.read_bytes(), None)
    locked.write_bytes(
        made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
