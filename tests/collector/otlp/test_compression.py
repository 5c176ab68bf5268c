import gzip
import tracemalloc
import zlib

import pytest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import TooLargeError, unpack

BODY = b"spans " * 1000


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", gzip.compress(BODY)),
        ("GZIP", gzip.compress(BODY[:100]) + gzip.compress(BODY[100:])),
        ("deflate", zlib.compress(BODY)),
        ("deflate", _raw_deflate(BODY)),
    ],
)
def test_every_encoding_that_senders_use_is_unpacked(encoding: str, packed: bytes) -> None:
    assert unpack(packed, encoding) == BODY


@pytest.mark.parametrize("packed", [gzip.compress(BODY)[:-20], b"not gzip", b""])
def test_damaged_gzip_is_refused(packed: bytes) -> None:
    with pytest.raises(DecodeError):
        unpack(packed, "gzip")


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(DecodeError, match="zstd"):
        unpack(BODY, "zstd")


def test_a_bomb_is_refused_while_it_unpacks() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        unpack(bomb, "gzip", limit=2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_the_limit_counts_plain_bodies_too() -> None:
    assert unpack(BODY, "", limit=len(BODY)) == BODY
    with pytest.raises(TooLargeError):
        unpack(BODY, "", limit=len(BODY) - 1)
