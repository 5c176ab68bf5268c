import os
from pathlib import Path

import pytest

from tests.fuzz.__main__ import SEED, fuzz

pytest.importorskip("atheris", reason="no wheel of atheris for this machine")

_SECONDS = int(os.environ.get("SPANPROOF_FUZZ_SECONDS", "60"))


def test_whatever_bytes_are_sent_no_promise_breaks(tmp_path: Path) -> None:
    found = fuzz(_SECONDS, SEED, tmp_path / "found")
    print(f"seed {SEED}: {found.counts}")
    told = "\n".join(
        f"{path.name}: {path.read_bytes().hex()[:2000]}\n{path.with_suffix('.txt').read_text()}"
        if path.with_suffix(".txt").exists()
        else f"{path.name}: {path.read_bytes().hex()[:2000]}\n{found.output[-2000:]}"
        for path in found.files
    )
    assert not found.files, f"seed {SEED}, {len(found.files)} kinds of failure\n{told}"
    assert found.counts["stored"] >= 500
    assert found.counts["refused"] >= 100
