"""Checks everything that must hold before a change lands: format, lint, types, import contracts, tests."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BIN = Path(sys.executable).parent
CORES = os.cpu_count() or 1

STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("format", (str(BIN / "ruff"), "format", "--check", ".")),
    ("lint", (str(BIN / "ruff"), "check", ".")),
    ("import contracts", (str(BIN / "lint-imports"),)),
    # A process more than there are cores, since much of the time is waiting; files whole, in the order of
    # tests/conftest.py: the long ones first.
    (
        "tests",
        (sys.executable, "-m", "pytest", "-n", str(CORES + 1), "--dist", "loadfile", "--no-loadscope-reorder"),
    ),
)


TYPES: tuple[str, ...] = (sys.executable, "-m", "mypy")
"""Checked beside the other steps, on what the tests leave of the cores."""


def main() -> int:
    """Run every step, also after one has failed; return 1 if any did.

    Arguments go to pytest: ``python check.py tests/collector -k order``.
    """
    failed = []
    folder = Path(__file__).parent
    with ThreadPoolExecutor(1) as beside:
        types = beside.submit(subprocess.run, TYPES, cwd=folder, check=False, capture_output=True, text=True)
        for name, command in STEPS:
            started = time.monotonic()
            print(f"== {name}", flush=True)
            arguments = sys.argv[1:] if name == "tests" else []
            if subprocess.run([*command, *arguments], cwd=folder, check=False).returncode:
                failed.append(name)
            told = "failed" if name in failed else "ok"
            print(f"== {name}: {told} in {time.monotonic() - started:.0f} s", flush=True)
        found = types.result()
    print(f"== types\n{found.stdout}{found.stderr}== types: {'failed' if found.returncode else 'ok'}")
    failed += ["types"] if found.returncode else []
    print(f"failed: {', '.join(failed)}" if failed else "all ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
