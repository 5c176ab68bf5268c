"""The console script: hands over to the command line of the evaluators where that is installed."""

import importlib
import sys

from spanproof_instrumentation.errors import MissingExtraError


def main() -> int | None:
    """Run the command line; return 2 with the install command where it is not installed."""
    try:
        command_line = importlib.import_module("spanproof_evaluators.__main__")
    except ModuleNotFoundError as error:
        # The package itself is always there; what its extra brings is missing. A module of our own is a fault.
        if (error.name or "").startswith("spanproof_"):
            raise
        print(MissingExtraError("the command line", "all"), file=sys.stderr)
        return 2
    run: object = command_line.main
    if not callable(run):
        raise TypeError("spanproof_evaluators.__main__.main is no function")
    code = run()
    return code if isinstance(code, int) else None


if __name__ == "__main__":
    sys.exit(main())
