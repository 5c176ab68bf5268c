"""How agents are shut in here, said of each trial and in the report."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from spanproof_evaluators.harness.limits import Held
from spanproof_evaluators.harness.processes import Process, Shut
from spanproof_evaluators.model.canonical import Plain

Isolation: TypeAlias = Literal["auto", "namespace", "process"]
Mode: TypeAlias = Literal["namespace", "process", "container", "service"]

LABEL: Final = "isolation"
"""The label of a trial that says which was in force."""

_SAYS: Final[Mapping[Mode, str]] = {
    "namespace": "namespaces of its own: the suite's hidden files, the store, the runner's folders and other trials "
    "are not to be seen; all of its processes end with the first",
    "process": "a process group of its own under the same user: hidden files are written after it is dead, but it can "
    "read what this user can, the suite's folder too",
    "container": "a container of its own, without the suite, the store or other trials",
    "service": "none: a service elsewhere, which nobody here can stop or look at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The isolation of one trial."""

    mode: Mode

    def told(self) -> dict[str, Plain]:
        """Return it as it is kept beside a verdict."""
        return {"mode": self.mode, "says": _SAYS[self.mode], "network": "open"}


@cache
def namespaces_work() -> bool:
    """Return whether the system gives namespaces to whoever asks: tried, once."""
    if sys.platform != "linux":
        return False
    with tempfile.TemporaryDirectory(prefix="spanproof-probe-") as temporary:
        root = Path(temporary).resolve()
        own, secret = root / "own", root / "secret"
        own.mkdir()
        secret.write_text("seen", encoding="ascii")
        tried = Process(
            command=["/bin/sh", "-c", f"test ! -e '{secret}' && test -d /proc/self"],
            environment={"PATH": os.defpath},
            own=own,
            folder=own,
            shut=Shut(namespace=True, hidden=(str(root),)),
            held=Held(seconds=20.0),
        ).run()
        return tried.code == 0
