"""A program that runs judges and is killed while it does: a line of JSON in, how the run ended out.

Every run is a child of its own, forked after everything is imported, so that a kill costs no start.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from tests.evaluators.judges.asked import kill_at, run, work
from tests.evaluators.judges.model_server import serving


def main() -> None:
    """Run what standard input asks for."""
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        run([work("")], Path(folder) / "j", server.url)  # everything that a run needs is imported by one
    for line in sys.stdin:
        told = json.loads(line)
        child = os.fork()
        if child == 0:
            if told["number"]:
                kill_at(told["number"], told["how"])
            run([work(answer) for answer in told["answers"]], Path(told["journal"]), told["url"], jobs=told["jobs"])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
