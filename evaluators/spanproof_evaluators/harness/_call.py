"""The other side of an agent that is a function: a process that calls it with the prompt, as one run of an agent.

    python _call.py FOLDER MODULE:FUNCTION

The prompt stands in ``SPANPROOF_PROMPT_FILE``; the answer goes to ``SPANPROOF_ANSWER_FILE``.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from spanproof_instrumentation import agent_span, configure


def main(folder: str, given: str) -> None:
    """Call the function and write down what it answers."""
    sys.path[0] = folder
    configure()
    module, _, path = given.partition(":")
    function: object = importlib.import_module(module)
    for part in path.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise TypeError(f"{given} is no function")
    prompt = Path(os.environ["SPANPROOF_PROMPT_FILE"]).read_text(encoding="utf-8")
    with agent_span(path, input_messages=prompt) as run:
        returned = function(prompt)
        if inspect.iscoroutine(returned):
            import asyncio

            returned = asyncio.run(returned)
        answer = _answer(returned)
        if answer is not None:
            run.output(answer)
    if answer is not None:
        Path(os.environ["SPANPROOF_ANSWER_FILE"]).write_text(answer, encoding="utf-8")


def _answer(returned: object) -> str | None:
    """Return the answer: a text, or the ``answer`` of what was returned."""
    if returned is None or isinstance(returned, str):
        return returned
    found = returned.get("answer") if isinstance(returned, Mapping) else getattr(returned, "answer", returned)
    return None if found is None else str(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
