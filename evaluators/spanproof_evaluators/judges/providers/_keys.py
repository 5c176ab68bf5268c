"""Keys, from the environment only. A provider's own key goes to that provider's own address and nowhere else."""

import os
from typing import Final

from spanproof_evaluators.errors import JudgeSetupError

OTHER_KEY: Final = "SPANPROOF_JUDGE_API_KEY"
"""The key for an address that was named with ``--base-url``."""


def key_for(variable: str | None, provider: str) -> str | None:
    """Return a provider's own key; with no variable the key for a named address, ``None`` where there is none.

    Raises:
        JudgeSetupError: the provider's own key is not there.
    """
    if variable is None:
        return os.environ.get(OTHER_KEY)
    found = os.environ.get(variable)
    if not found:
        raise JudgeSetupError(
            f"{provider} needs a key in {variable}; an address of your own (--base-url) takes {OTHER_KEY}, if any"
        )
    return found
