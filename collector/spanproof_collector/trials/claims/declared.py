"""Calls by which an agent says that it is finished: finish, submit, final_answer and the like, of any framework.

Read from the call: its name says that the work ends, its arguments how. Only the agent's last call counts, and none
that was turned down: a harness that refuses to let the agent finish took no declaration.
"""

import re
from typing import Final

from spanproof_collector.model.trials import ClaimState, ToolCall
from spanproof_collector.model.values import Json
from spanproof_collector.trials.claims.text import of_text
from spanproof_collector.trials.claims.words import ends_the_work, plain, state_in

_OF_A_THING: Final = re.compile(r"(^|_)(id|ids|uuid|key|index|number)$")


def finishes(call: ToolCall) -> bool:
    """Return whether a call says that the agent has finished.

    A tool of the domain that completes a thing is none: it is told by the id of the thing among its arguments.
    """
    if isinstance(call.arguments, dict) and any(_OF_A_THING.search(plain(key)) for key in call.arguments):
        return False
    return ends_the_work(call.name)


def of_call(call: ToolCall) -> tuple[ClaimState, str]:
    """Return what a finishing call claims, and the rule: its own fields first, then its words, else the call itself."""
    stated = state_in(call.arguments)
    if stated is not None:
        return stated, f"finish_call: {call.name} (stated)"
    said, _ = of_text(_words(call.arguments))
    if said in ("failure", "partial"):
        return said, f"finish_call: {call.name} (by its words)"
    return "success", f"finish_call: {call.name}"


def _words(arguments: Json) -> str:
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    return "\n".join(value for value in arguments.values() if isinstance(value, str))
