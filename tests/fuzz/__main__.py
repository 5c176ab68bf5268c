"""Fuzzes the decoders: ``python -m tests.fuzz --seconds 3600``; ``--replay FILE`` tries one finding again."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz.cases import WORK

SEED: Final = 20_261_101
_REST: Final = 180
"""Seconds for starting, for the slowest case and for the last block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a run of the fuzzer came to."""

    counts: dict[str, int]
    """Cases by how far they came."""

    files: tuple[Path, ...]
    """One case for each kind of failure; ``.txt`` beside it says what went wrong."""

    output: str


def fuzz(seconds: int, seed: int, folder: Path, *, show: bool = False) -> Findings:
    """Fuzz in a process of its own and return what was found; files go into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.fuzzing", str(folder), str(seconds), str(seed)]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], stdout=None if show else log, stderr=None if show else log
        )
        try:
            code = process.wait(seconds + _REST)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder / WORK, ignore_errors=True)
        log.seek(0)
        output = log.read()
    counts = folder / "counts.json"
    # libFuzzer leaves a file of its own for what crashes, hangs or eats the memory of the process.
    names = ("case-*", "crash-*", "timeout-*", "oom-*", "slow-unit-*", "leak-*")
    files = sorted(path for name in names for path in folder.glob(name) if path.suffix != ".txt")
    if code and not files:
        raise RuntimeError(f"the fuzzer itself failed with {code}: {output[-4000:]}")
    return Findings(counts=json.loads(counts.read_text()) if counts.exists() else {}, files=tuple(files), output=output)


def replay(path: Path) -> None:
    """Try one case again and let it fail."""
    from spanproof_collector.store import open_store
    from tests.fuzz.cases import unpack_case
    from tests.fuzz.target import Target

    case = unpack_case(path.read_bytes())
    print(case.signal, case.form, case.encoding or "not packed", f"{len(case.body)} bytes")
    with tempfile.TemporaryDirectory() as folder, open_store(f"chdb://{folder}/store") as store:
        target = Target(store)
        print(target.check(case))
        if (refused := target.store_waiting()) is not None:
            raise refused[1]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--folder", type=Path, help="where findings go; a new folder if not said")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.replay:
        replay(arguments.replay)
        return 0
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="spanproof-fuzz-"))
    began = time.monotonic()
    found = fuzz(arguments.seconds, arguments.seed, folder.absolute(), show=True)
    print(f"seed {arguments.seed}, {time.monotonic() - began:.0f} s, {found.counts}")
    for path in found.files:
        print(f"found: {path}; try it again: python -m tests.fuzz --replay {path}")
    return 1 if found.files else 0


if __name__ == "__main__":
    sys.exit(main())
