"""What tests of judges share: clients that load one certificate, because loading all of a system takes their time."""

from collections.abc import Iterator

import pytest
import trustme


@pytest.fixture(scope="package", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients trust one authority. Nothing here speaks TLS."""
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield
