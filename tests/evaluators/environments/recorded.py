"""Sessions of our own making: calls that a world answered once, as a recording or as a file."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanproof_evaluators.environments import Call, Environment, Recording
from spanproof_evaluators.model.canonical import Plain

SHOP = """
kind: sqlite
name: shop
start: shop.db
tools:
  get_order: {sql: "SELECT * FROM orders WHERE id = :id", gives: row}
  list_orders: {sql: "SELECT id, state FROM orders ORDER BY id"}
  add_note: {sql: "INSERT INTO notes (text) VALUES (:text) RETURNING id", gives: value}
  cancel_order:
    sql:
      - "INSERT INTO notes (text) VALUES ('cancelled ' || :id)"
      - "UPDATE orders SET state = 'cancelled' WHERE id = :id RETURNING id, state"
    gives: row
  pay_order: {sql: "UPDATE orders SET state = 'paid', paid = paid + :amount WHERE id = :id", gives: unknown}
  delete_order: {sql: "DELETE FROM orders WHERE id = :id", gives: unknown}
irreversible: [pay_order]
expected:
  cancel: [{tool: cancel_order, arguments: {id: W1}}]
  delete: [{tool: delete_order, arguments: {id: W1}}]
  look: []
"""


def shop(folder: Path, written: str = SHOP) -> Path:
    """Write a shop and what its tools do, and return the file that defines it."""
    with sqlite3.connect(folder / "shop.db") as file:
        file.executescript(
            "CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT NOT NULL, paid REAL NOT NULL DEFAULT 0);"
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
            "INSERT INTO orders (id, state) VALUES ('W1', 'open'), ('W2', 'open');"
        )
    file.close()
    config = folder / "shop.yaml"
    config.write_text(written, encoding="utf-8")
    return config


def call(name: str, effect_class: str = "unclassified", **arguments: Plain) -> Call:
    """Return a call whose answer is not recorded."""
    return Call(name=name, arguments=arguments, effect_class=effect_class)


def record(environment: Environment, calls: Sequence[Call], task_id: str | None = None) -> Recording:
    """Make calls in a world, and return what a recorder would have written."""
    blank = Recording(task_id=task_id, answer="Done.")
    world = environment.start(blank)
    try:
        return replace(blank, calls=tuple(replace(one, recorded=world.apply(one)) for one in calls))
    finally:
        world.close()


def as_messages(recording: Recording, name: str) -> Mapping[str, object]:
    """Return a recording in the shape of chat completions."""
    messages: list[object] = [{"role": "user", "content": "Please."}]
    for number, one in enumerate(recording.calls):
        asked = {"name": one.name, "arguments": json.dumps(one.arguments)}
        made = {"id": f"c{number}", "type": "function", "function": asked}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        if one.recorded is not None:
            told = one.recorded.result if one.recorded.error is None else f"Error: {one.recorded.error}"
            content = told if isinstance(told, str) else json.dumps(told)
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": content})
    messages.append({"role": "assistant", "content": recording.answer})
    return {"id": name, "task_id": recording.task_id, "messages": messages}
