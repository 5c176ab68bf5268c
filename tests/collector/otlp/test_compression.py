import gzip
import sys
import tracemalloc
import zlib

import pytest

from spanproof_collector.errors import DecodeError
from spanproof_collector.otlp import TooLargeError, unpack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b"spans " * 1000


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", gzip.compress(BODY, mtime=0)),
        ("GZIP", gzip.compress(BODY[:100], mtime=0) + gzip.compress(BODY[100:], mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", _raw_deflate(BODY)),
        ("zlib", zlib.compress(BODY)),
        ("zstd", zstd.compress(BODY)),
        ("zstd", zstd.compress(BODY[:100]) + zstd.compress(BODY[100:])),
    ],
)
def test_every_encoding_that_senders_use_is_unpacked(encoding: str, packed: bytes) -> None:
    assert unpack(packed, encoding) == BODY


@pytest.mark.parametrize("packed", [gzip.compress(BODY, mtime=0)[:-20], b"not gzip", b""])
def test_damaged_gzip_is_refused(packed: bytes) -> None:
    with pytest.raises(DecodeError):
        unpack(packed, "gzip")


@pytest.mark.parametrize("packed", [zstd.compress(BODY)[:-5], zstd.compress(BODY)[:3], b"not zstd", b""])
def test_damaged_zstd_is_refused(packed: bytes) -> None:
    with pytest.raises(DecodeError, match="zstd"):
        unpack(packed, "zstd")


def test_zstd_that_asks_for_more_memory_than_a_request_may_have_is_refused() -> None:
    packer = zstd.ZstdCompressor(options={int(zstd.CompressionParameter.window_log): 27})
    with pytest.raises(DecodeError, match="zstd"):
        unpack(packer.compress(BODY) + packer.flush(), "zstd")


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(DecodeError, match="'br' is not supported: send gzip, deflate, zstd or none"):
        unpack(BODY, "br")


@pytest.mark.parametrize(
    ("encoding", "bomb"),
    [
        ("gzip", gzip.compress(bytes(50_000_000), mtime=0)),
        ("deflate", zlib.compress(bytes(50_000_000))),
        ("zstd", zstd.compress(bytes(50_000_000))),
    ],
    ids=["gzip", "deflate", "zstd"],
)
def test_a_bomb_is_refused_while_it_unpacks(encoding: str, bomb: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        unpack(bomb, encoding, limit=2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_the_limit_counts_plain_bodies_too() -> None:
    assert unpack(BODY, "", limit=len(BODY)) == BODY
    with pytest.raises(TooLargeError):
        unpack(BODY, "", limit=len(BODY) - 1)
