"""The console script: hands over to the command line of the evaluators where that is installed."""

import importlib
import sys

from spanproof_instrumentation.errors import MissingExtraError


def main() -> int | None:
    """Run the command line; return 2 with the install command where it is not installed."""
    try:
        command_line = importlib.import_module("spanproof_evaluators.__main__")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        # A module of our own that is missing from an installed evaluators package is a fault, not a missing extra.
        if package.startswith("spanproof_") and error.name != "spanproof_evaluators":
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
