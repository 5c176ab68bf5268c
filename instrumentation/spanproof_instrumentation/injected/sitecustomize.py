"""Python imports this by itself at start, where ``spanproof run`` put its folder in front: it begins to record.

It must not be noticed: a sitecustomize that it shadows runs as it would have, and an interpreter that cannot record,
because it is too old or has no OpenTelemetry, goes on in silence. It knows nothing newer than Python 3.4.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # pathlib is slow to load at every start


def _chain() -> None:
    elsewhere = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _record() -> None:
    try:
        if importlib.util.find_spec("spanproof_instrumentation") is None:
            # Another environment than ours: only our own package is added to it, nothing that lies beside.
            folder = os.path.dirname(_HERE)  # noqa: PTH120
            spec = importlib.util.spec_from_file_location(
                "spanproof_instrumentation",
                os.path.join(folder, "__init__.py"),  # noqa: PTH118
                submodule_search_locations=[folder],
            )
            if spec is None or spec.loader is None:
                return
            module = importlib.util.module_from_spec(spec)
            sys.modules["spanproof_instrumentation"] = module
            spec.loader.exec_module(module)
        from spanproof_instrumentation.startup import start

        start()
    except Exception:  # the boundary to a process that is not ours; startup has one of its own behind it
        for name in [name for name in sys.modules if name.partition(".")[0] == "spanproof_instrumentation"]:
            del sys.modules[name]
        if os.environ.get("SPANPROOF_DEBUG"):
            raise


try:
    _chain()
finally:
    _record()
