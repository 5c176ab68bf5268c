"""Where recorded material of others lies that tests read and never commit, and how tests skip where it is absent."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SPANPROOF_SHARED", Path(__file__).parents[2] / "shared"))
CAPTURES = SHARED / "captures"
GOLDEN = SHARED / "golden"
SESSIONS = SHARED / "sessions"

needs_captures = pytest.mark.skipif(
    not (CAPTURES / "MANIFEST.json").is_file(),
    reason="no captures: set SPANPROOF_SHARED to the folder that holds captures/",
)
needs_golden = pytest.mark.skipif(
    not GOLDEN.is_dir(), reason="no golden files: set SPANPROOF_SHARED to the folder that holds golden/"
)
needs_sessions = pytest.mark.skipif(
    not (SESSIONS / "dev" / "manifest.jsonl").is_file(),
    reason="no recorded sessions: set SPANPROOF_SHARED to the folder that holds sessions/",
)


def capture_names(prefix: str) -> list[str]:
    """Return the names of the captures that begin like this, or one that will be skipped where there are none."""
    found = sorted(path.name for path in CAPTURES.glob(f"{prefix}*") if path.is_dir())
    return found or [f"{prefix}(absent)"]
