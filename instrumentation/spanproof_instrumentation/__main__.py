"""The console script: ``run`` is ours, all else is for the command line of the evaluators where that is installed."""

import importlib
import sys

from spanproof_instrumentation.errors import MissingExtraError

_HELP = """\
Usage: spanproof COMMAND …

Commands:
  run    run an agent without a change to it, and record what it does

Everything else needs the extra [all]: pip install 'spanproof[all]'
"""


def main() -> int | None:
    """Run a command; return 2 with the install command where it is not installed."""
    if sys.argv[1:2] == ["run"]:
        from spanproof_instrumentation.run import main as run_agent

        return run_agent(sys.argv[2:])
    try:
        command_line = importlib.import_module("spanproof_evaluators.__main__")
    except ModuleNotFoundError as error:
        # The package itself is always there; what its extra brings is missing. A module of our own is a fault.
        if (error.name or "").startswith("spanproof_"):
            raise
        if sys.argv[1:2] in (["--help"], ["-h"]):
            print(_HELP, end="")
            return 0
        print(MissingExtraError("the command line", "all"), file=sys.stderr)
        return 2
    run: object = command_line.main
    if not callable(run):
        raise TypeError("spanproof_evaluators.__main__.main is no function")
    code = run()
    return code if isinstance(code, int) else None


if __name__ == "__main__":
    sys.exit(main())
