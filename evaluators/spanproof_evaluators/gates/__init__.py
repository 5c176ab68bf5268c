"""Gates: ordered conditions for a release. The first hard one that fails decides, all are shown."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from spanproof_evaluators.errors import PolicyError
from spanproof_evaluators.gates._decide import decide
from spanproof_evaluators.gates.policy import Evidence, decide_by, tonight_alone
from spanproof_evaluators.gates.release import release_policy
from spanproof_evaluators.model.documents import SUFFIXES
from spanproof_evaluators.model.policies import Policy, read_policy

__all__ = ["POLICIES", "Evidence", "decide", "decide_by", "find_policy", "release_policy", "tonight_alone"]

POLICIES: Final[Mapping[str, str]] = {
    "founding": "the thresholds of the founding texts, as point rules",
    "nightly": "for a run every night: evidence of all nights together",
    "recommended": "evidence first, harm second, then a comparison that minds chance",
}
"""The policies that come with the product, by name."""


def find_policy(name: str) -> Policy:
    """Return a policy by the name of one that comes along, or by its file.

    Raises:
        PolicyError: there is neither, or the file is no policy.
    """
    if name in POLICIES:
        return read_policy(Path(str(files(__package__) / "policies" / f"{name}.yaml")))
    if not Path(name).is_file():
        raise PolicyError(
            name, "", f"there is no such file, and no such policy. Policies that come along: {', '.join(POLICIES)}"
        )
    if Path(name).suffix not in SUFFIXES:
        raise PolicyError(name, "", f"a policy is a file that ends in {', '.join(SUFFIXES)}")
    return read_policy(Path(name))
