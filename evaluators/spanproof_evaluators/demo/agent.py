"""An agent process: one trial of one task in one world, instrumented through our own package.

    python -m spanproof_evaluators.demo.agent VARIANT TASK WORLD PROMPT

It exports where the ``OTEL_*`` variables say and takes its labels from BAGGAGE. It prints its answer.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias

from spanproof_evaluators.demo.ids import TrialIds
from spanproof_evaluators.demo.scripts import SCRIPTS, Answer, Call, Observation, Script
from spanproof_evaluators.demo.tools import TOOLS
from spanproof_evaluators.demo.world import World
from spanproof_instrumentation import (
    agent_span,
    claim,
    configure,
    cost,
    model_span,
    progress,
    termination,
    tool_span,
    wait,
)

Message: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A model that is billed by the token."""

    name: str
    usd_per_input_token: Decimal
    usd_per_output_token: Decimal


_CHEAP: Final = _Model(
    name="shop-model-1", usd_per_input_token=Decimal("0.00002"), usd_per_output_token=Decimal("0.0001")
)
_DEAR: Final = _Model(
    name="shop-model-2", usd_per_input_token=Decimal("0.00003"), usd_per_output_token=Decimal("0.00015")
)
_VARIANTS: Final = {"careful": ("1.4.0", _CHEAP), "fast": ("2.0.0", _DEAR)}
"""By variant, the version of the agent and its model."""

_CHARACTERS_PER_TOKEN: Final = 4
_INSTRUCTIONS: Final = "You are the clerk of a web shop. Do what is asked with the tools you have."
_TWO_DAYS: Final = 172_800_000_000_000


def act(variant: str, task: str, prompt: str, world: World) -> Answer:
    """Do the task in the world and return the answer."""
    script = SCRIPTS[variant][task]()
    version, model = _VARIANTS[variant]
    messages = [_message("user", {"type": "text", "content": prompt})]
    with agent_span("shop-clerk", version=version, conversation_id=f"{variant}.{task}", input_messages=prompt) as run:
        move = _next_move(model, script, None, messages, call_id := "call-1")
        while isinstance(move, Call):
            seen = _use(move, call_id, world)
            told = {"type": "tool_call_response", "id": call_id, "response": seen.error or seen.result}
            messages.append(_message("tool", told))
            # One window of work: what it gained is what the world let the agent know.
            progress("facts_known", 0 if seen.error else 1)
            move = _next_move(model, script, seen, messages, call_id := f"call-{len(messages) // 2 + 1}")
        run.output(move.text)
        if move.claims is not None:
            claim(move.claims, move.text)
            termination("completed")
        if move.waits_for is not None:
            wait(move.waits_for.owner, move.waits_for.decision, time.time_ns() + _TWO_DAYS, resumable=True)
            progress("facts_known", 0, window="waiting")
    return move


def _next_move(
    model: _Model, script: Script, seen: Observation | None, messages: list[Message], call_id: str
) -> Call | Answer:
    """Ask the model, which is the script, and bill it by the length of what it read and wrote."""
    with model_span(model.name, provider="demo", input_messages=messages, system_instructions=_INSTRUCTIONS) as asked:
        move: Call | Answer
        try:
            move = next(script) if seen is None else script.send(seen)
        except StopIteration as end:
            move = end.value
        match move:
            case Call(tool=tool, arguments=arguments):
                part: Message = {"type": "tool_call", "id": call_id, "name": tool, "arguments": dict(arguments)}
                finish_reason = "tool_call"
            case Answer(text=text):
                part, finish_reason = {"type": "text", "content": text}, "stop"
        written = _message("assistant", part)
        input_tokens = len(_INSTRUCTIONS + json.dumps(messages)) // _CHARACTERS_PER_TOKEN
        output_tokens = len(json.dumps(written)) // _CHARACTERS_PER_TOKEN
        asked.output([{**written, "finish_reason": finish_reason}], finish_reason=finish_reason)
        asked.response(model=model.name)
        asked.usage(input_tokens=input_tokens, output_tokens=output_tokens)
        cost(input_tokens * model.usd_per_input_token + output_tokens * model.usd_per_output_token)
    messages.append(written)
    return move


def _use(call: Call, call_id: str, world: World) -> Observation:
    try:
        with tool_span(call.tool, call_id=call_id, arguments=call.arguments) as used:
            result = TOOLS[call.tool](world, call.arguments)
            used.result(result)
            return Observation(result=result)
    except OSError as error:  # the line to a service: TimeoutError, ConnectionResetError
        return Observation(error=f"{type(error).__name__}: {error}")


def _message(role: str, part: Message) -> Message:
    return {"role": role, "parts": [part]}


def main() -> None:
    """Run one trial."""
    variant, task, world, prompt = sys.argv[1:]
    configure(service_name=f"shop-clerk-{variant}", capture_content=True, id_generator=TrialIds("agent"))
    print(json.dumps({"answer": act(variant, task, prompt, World(Path(world))).text}))


if __name__ == "__main__":
    main()
