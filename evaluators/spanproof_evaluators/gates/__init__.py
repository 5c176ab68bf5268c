"""Gates: ordered conditions for a release. The first hard one that fails decides, all are shown."""

from spanproof_evaluators.gates._decide import decide
from spanproof_evaluators.gates.release import release_policy

__all__ = ["decide", "release_policy"]
