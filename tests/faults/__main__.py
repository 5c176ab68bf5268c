"""Kills the servers of one lane: ``python -m tests.faults --runs 25``, to see again what a test found."""

import argparse
import sys
import tempfile
from pathlib import Path

from spanproof_collector.store import open_store
from tests.faults.lane import FaultFoundError, Lane, Summary
from tests.faults.zygote import Zygote

SEED = 20_261_130


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--lane", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Zygote() as zygote:
        folder = Path(name)
        with open_store(f"chdb://{folder}/reference") as reference:
            (folder / "lane").mkdir()
            lane = Lane(zygote, folder / "lane", arguments.lane, arguments.seed)
            try:
                lane.run(range(arguments.first, arguments.first + arguments.runs))
                summary = lane.compare(reference)
            except FaultFoundError as error:
                print(error, flush=True)
                return 1
            finally:
                lane.close()
    tell(arguments.seed, summary)
    return 0


def tell(seed: int, summary: Summary) -> None:
    """Print what the runs came to."""
    print(
        f"seed {seed}: {sum(summary.killed.values())} runs in {summary.seconds:.0f} s, {summary.spans} spans in "
        f"{summary.trials} trials, {summary.acknowledged} requests acknowledged before a kill, {summary.resent} sent "
        "again; 0 acknowledged spans lost, 0 doubled, 0 trials changed"
    )
    for point, count in sorted(summary.killed.items()):
        print(f"  {count:5} killed at {point}")


if __name__ == "__main__":
    sys.exit(main())
