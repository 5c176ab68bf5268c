"""TLS for the listeners: files checked before anything listens, so that what is wrong is said in words."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import grpc

from spanproof_collector.errors import ServeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM: a certificate with its chain, its key, and whose certificates clients must show, if any."""

    certificate: Path
    key: Path
    client_authority: Path | None = None

    def check(self) -> None:
        """Read the files.

        Raises:
            ServeError: one of them cannot be used.
        """
        for option, path in (
            ("--tls-cert", self.certificate),
            ("--tls-key", self.key),
            ("--tls-client-ca", self.client_authority),
        ):
            if path is not None:
                try:
                    path.read_bytes()
                except OSError as error:
                    raise ServeError(f"{option} {path} cannot be read: {error.strerror}") from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password=self._no_password)
        except ssl.SSLError as error:
            why = f"are no certificate and key in PEM ({error.reason or error})"
            if error.reason == "KEY_VALUES_MISMATCH":
                why = "do not belong together: the key is not that of the certificate"
            raise ServeError(f"{self.certificate} and {self.key} {why}") from error
        if self.client_authority is not None:
            try:
                context.load_verify_locations(self.client_authority)
            except ssl.SSLError as error:
                raise ServeError(
                    f"--tls-client-ca {self.client_authority} holds no certificate in PEM ({error.reason or error})"
                ) from error

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return what a gRPC server takes."""
        authority = None if self.client_authority is None else self.client_authority.read_bytes()
        return grpc.ssl_server_credentials(
            [(self.key.read_bytes(), self.certificate.read_bytes())],
            root_certificates=authority,
            require_client_auth=authority is not None,
        )

    def _no_password(self) -> NoReturn:
        raise ServeError(f"the key in {self.key} is locked with a password: give one that is not")
