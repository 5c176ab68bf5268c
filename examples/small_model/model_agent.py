"""A shop clerk that is a model with tools, behind any OpenAI-compatible address.

    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen2.5-coder:1.5b python3 model_agent.py 'Refund order A-1.'

It works in the folder it is started in, a world of ``spanproof suite example``, and prints its answer. Ollama, vLLM and
llama.cpp serve such an address; OPENAI_API_KEY is sent where it is set. Needs spanproof and no client library.
"""

import json
import os
import sqlite3
import sys
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from spanproof_instrumentation import agent_span, configure, effect, model_span, tool_span

Message: TypeAlias = dict[str, Any]  # as the API has it
MAX_TURNS = 8
SYSTEM = (
    "You are the clerk of a shop. Use the tools; never guess. Rules are in policy.md, prices in prices.json, code in "
    "shop/. A mail is a file outbox/NAME.txt. When you are finished, say in one sentence what you did or found."
)


def rows(statement: str, *values: str) -> object:
    """Ask the shop's database."""
    with closing(sqlite3.connect("shop.db")) as shop:
        shop.row_factory = sqlite3.Row
        return [dict(row) for row in shop.execute(statement, values)]


def change(resource: str, operation: str, statement: str, *values: str) -> object:
    """Change the shop's database, and declare that as the effect of the running tool call."""
    effect("write", destination="shop.db", resource=resource, operation=operation)
    with closing(sqlite3.connect("shop.db")) as shop, shop:
        return {"rows_changed": shop.execute(statement, values).rowcount}


def inside(path: str) -> Path:
    """Return the path, if it is below the working folder."""
    if not Path(path).resolve().is_relative_to(Path.cwd()):
        raise ValueError(f"{path} is outside the folder")
    return Path(path)


def write_file(path: str, text: str) -> object:
    """Write a file, and declare that as the effect of the running tool call."""
    target = inside(path)
    effect("write", destination="files", resource=path, operation="write_file")
    target.parent.mkdir(parents=True, exist_ok=True)
    return {"characters_written": target.write_text(text, encoding="utf-8")}


TOOLS: dict[str, tuple[str, Callable[..., object]]] = {
    "find_orders": (
        "Orders by id or by customer.",
        lambda id_or_customer: rows("SELECT * FROM orders WHERE ?1 IN (id, customer)", id_or_customer),
    ),
    "refund_order": (
        "Pay money back.",
        lambda order, amount: change(order, "refund_order", "INSERT INTO refunds VALUES (?, ?)", order, amount),
    ),
    "set_state": (
        "packed, shipped, delivered or cancelled.",
        lambda order, state: change(order, "set_state", "UPDATE orders SET state = ?2 WHERE id = ?1", order, state),
    ),
    "set_address": (
        "Change where an order goes.",
        lambda order, address: change(
            order, "set_address", "UPDATE orders SET address = ?2 WHERE id = ?1", order, address
        ),
    ),
    "delete_order": ("", lambda order: change(order, "delete_order", "DELETE FROM orders WHERE id = ?", order)),
    "find_stock": ("How many are left.", lambda item: rows("SELECT * FROM stock WHERE item = ?", item)),
    "reserve_stock": (
        "Take some of an item.",
        lambda item, count: change(
            item, "reserve_stock", "UPDATE stock SET left = left - ?2 WHERE item = ?1", item, count
        ),
    ),
    "read_file": ("", lambda path: inside(path).read_text(encoding="utf-8")),
    "write_file": ("", write_file),
}


def definition(name: str) -> dict[str, object]:
    """Return a tool as the API wants it; its parameters are those of its function."""
    description, function = TOOLS[name]
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    parameters = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [definition(name) for name in TOOLS]


def in_parts(message: Message) -> Message:
    """Return a message of the API in the shape of OpenTelemetry's GenAI conventions."""
    parts: list[Message] = []
    if message["role"] == "tool":
        parts.append({"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]})
    elif message.get("content"):
        parts.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or []:
        function = call["function"]
        parts.append(
            {"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": function["arguments"]}
        )
    return {"role": message["role"], "parts": parts}


def ask(messages: list[Message], *, tools: bool) -> Message:
    """Call the model once, and return its message."""
    model = os.environ["OPENAI_MODEL"]
    body: dict[str, object] = {"model": model, "messages": messages, "temperature": 0.7, "max_tokens": 200}
    body["seed"] = int(os.environ.get("SPANPROOF_SEED", "0")) % 2**31
    body |= {"tools": DEFINITIONS, "tool_choice": "auto" if tools else "none"}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers
    )
    said = [in_parts(message) for message in messages]
    with model_span(model, provider="openai", input_messages=said, tool_definitions=DEFINITIONS) as call:
        with urllib.request.urlopen(request, timeout=280) as response:
            answer = json.load(response)
        choice, usage = answer["choices"][0], answer["usage"]
        call.output(
            [in_parts(choice["message"]) | {"finish_reason": choice["finish_reason"]}],
            finish_reason=choice["finish_reason"],
        )
        call.usage(input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"])
    message: Message = choice["message"]
    return message


def use(name: str, arguments: str, call_id: str) -> str:
    """Call a tool; an error is an answer, too."""
    with tool_span(name, call_id=call_id, arguments=arguments) as call:
        try:
            told = json.dumps(TOOLS[name][1](**json.loads(arguments)))
        except (KeyError, TypeError, ValueError, OSError, sqlite3.Error) as error:
            told = json.dumps({"error": f"{type(error).__name__}: {error}"})
        call.result(told)
    return told


def work(prompt: str) -> str:
    """Let the model work until it calls no more tools; return its last words."""
    messages: list[Message] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    known: set[tuple[str, str]] = set()
    repeated = False
    for turn in range(MAX_TURNS):
        message = ask(messages, tools=turn < MAX_TURNS - 1 and not repeated)
        messages.append(message)
        calls = message.get("tool_calls") or []
        if not calls:
            break
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            repeated = repeated or (name, arguments) in known  # it goes round in circles: it is to answer now
            known.add((name, arguments))
            told = use(name, arguments, call["id"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
    return str(messages[-1].get("content") or "")


def main() -> None:
    """Answer the prompt on the command line, or on standard input."""
    configure(service_name="model-clerk", capture_content=True)
    prompt = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
    with agent_span("model-clerk", input_messages=prompt) as run:
        answer = work(prompt)
        run.output(answer)
    print(answer)


if __name__ == "__main__":
    main()
