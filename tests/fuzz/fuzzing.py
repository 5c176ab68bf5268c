"""The fuzzer's own process: ``python -m tests.fuzz`` starts it. Coverage of the decoders guides what is tried next.

Everything that escapes a check is a finding; ``_Run.try_one`` is the boundary at which it becomes a file.
"""

import hashlib
import json
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import atheris

with atheris.instrument_imports(include=["spanproof_collector.otlp", "spanproof_collector.dialects"]):
    from spanproof_collector import otlp  # noqa: F401

from spanproof_collector.store import open_store
from tests.fuzz.cases import WORK, Case, pack, unpack_case
from tests.fuzz.mutating import mutate
from tests.fuzz.seeds import seeds
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from spanproof_collector.store import Store

_BLOCK: Final = 500
"""Cases between two writes into the store."""

_LONG: Final = 600
"""Seconds from which on there is time to go through hundreds of recorded requests first."""


class _Run:
    """Counts cases and keeps what was found, each kind of failure once."""

    def __init__(self, store: "Store", found: Path, seconds: int) -> None:
        self._target = Target(store)
        self._until = time.monotonic() + seconds
        self._found = found
        self._kinds: set[str] = set()
        self._counts: Counter[str] = Counter()

    def try_one(self, data: bytes) -> None:
        """Check one case."""
        case = unpack_case(data)
        try:
            self._counts[self._target.check(case)] += 1
        except Exception as error:
            self._counts["broken"] += 1
            self._keep(case, error)
        self._counts["cases"] += 1
        over = time.monotonic() >= self._until
        if over or self._counts["cases"] % _BLOCK == 0:
            if (refused := self._target.store_waiting()) is not None:
                self._keep(*refused)
            (self._found / "counts.json").write_text(json.dumps(self._counts))
        if over:
            # Not by libFuzzer's way out: the engine has threads, and some of them do not survive that.
            sys.stdout.flush()
            os._exit(0)

    def _keep(self, case: Case, error: BaseException) -> None:
        kind = "".join(traceback.format_exception(error))
        where = hashlib.sha256(
            "".join(f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)).encode()
            + repr([type(each) for each in (error, error.__cause__)]).encode()
        ).hexdigest()[:12]
        if where not in self._kinds:
            self._kinds.add(where)
            (self._found / f"case-{where}").write_bytes(pack(case))
            (self._found / f"case-{where}.txt").write_text(kind)
            print(f"FOUND {self._found / f'case-{where}'}\n{kind}", flush=True)


def main(found: Path, seconds: int, seed: int) -> None:
    """Fuzz for so long; never returns."""
    corpus = found / WORK / "corpus"
    corpus.mkdir(parents=True)
    for number, data in enumerate(seeds(recorded=seconds >= _LONG)):
        (corpus / f"{number:04}").write_bytes(data)
    run = _Run(open_store(f"chdb://{found.absolute()}/{WORK}/store"), found, seconds)
    atheris.Setup(
        [
            sys.argv[0],
            f"-seed={seed}",
            "-max_len=65536",
            "-timeout=30",
            "-rss_limit_mb=3072",
            f"-artifact_prefix={found}/",
            str(corpus),
        ],
        run.try_one,
        custom_mutator=lambda data, most, number: mutate(data, most, number, atheris.Mutate),
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
