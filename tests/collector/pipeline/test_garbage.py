"""What a process that takes in rows asks of its memory."""

import subprocess
import sys
from pathlib import Path

import pytest

_ALLOCATE = """
import ctypes, sys, threading
from spanproof_collector.pipeline.garbage import share_one_heap

if sys.argv[1] == "one":
    share_one_heap()
begun = threading.Barrier(4)

def allocate():
    begun.wait()
    kept = [bytes(10_000) for _ in range(100)]
    begun.wait()

threads = [threading.Thread(target=allocate) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone has several heaps")
def test_threads_share_one_heap(tmp_path: Path) -> None:
    def heaps(how: str) -> int:
        told = tmp_path / how
        subprocess.run([sys.executable, "-c", _ALLOCATE, how, str(told)], check=True, timeout=60)
        return told.read_text().count("<heap nr=")

    assert heaps("many") > 1
    assert heaps("one") == 1
