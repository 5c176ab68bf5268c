"""The world that the agents act on: a shop in a SQLite file and a mailbox in a folder."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

Value: TypeAlias = str | int | None
Row: TypeAlias = dict[str, Value]

TABLES: Final = ("customers", "orders", "payments", "refunds", "vouchers", "approvals")

_SCHEMA: Final = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL);
CREATE TABLE orders (id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, item TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                     status TEXT NOT NULL, arrives_on TEXT NOT NULL, address TEXT NOT NULL);
CREATE TABLE payments (id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                       method TEXT NOT NULL);
CREATE TABLE refunds (id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL, idempotency_key TEXT);
CREATE TABLE vouchers (id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                       idempotency_key TEXT);
CREATE TABLE approvals (id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                        approver TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE line_faults (service TEXT PRIMARY KEY);
"""
_CUSTOMERS: Final = (
    ("CUS-1", "Ada", "ada@example.com"),
    ("CUS-2", "Barbara", "barbara@example.com"),
    ("CUS-3", "Edsger", "edsger@example.com"),
    ("CUS-4", "Grace", "grace@example.com"),
    ("CUS-5", "Alan", "alan@example.com"),
    ("CUS-6", "Edgar", "edgar@example.com"),
    ("CUS-7", "Leslie", "leslie@example.com"),
)
_ORDERS: Final = (
    ("ORD-1001", "CUS-1", "desk lamp", 4900, "delivered", "2 March 2026", "12 Engine Street, London"),
    ("ORD-1002", "CUS-2", "notebook", 1250, "shipped", "12 March 2026", "3 Abstract Avenue, Boston"),
    ("ORD-1003", "CUS-3", "fountain pen", 7800, "delivered", "27 February 2026", "8 Shortest Path, Nuenen"),
    ("ORD-1004", "CUS-4", "wall clock", 6400, "delivered", "1 March 2026", "1 Nanosecond Lane, Arlington"),
    ("ORD-1005", "CUS-5", "espresso machine", 89000, "lost", "20 February 2026", "2 Tape Road, Wilmslow"),
    ("ORD-1006", "CUS-6", "bookend", 3100, "delivered", "25 February 2026", "4 Relation Row, San Jose"),
    ("ORD-1007", "CUS-7", "hourglass", 2700, "packed", "14 March 2026", "9 Clock Close, Leeds"),
)


class World:
    """One trial's own copy of the shop and its mailbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop = folder / "shop.sqlite"
        self.mailbox = folder / "mail"

    @classmethod
    def create(cls, folder: Path, *, faults: Sequence[str] = ()) -> "World":
        """Return a fresh world. ``faults`` are the services whose first answer gets lost on its way back."""
        world = cls(folder)
        world.mailbox.mkdir(parents=True)
        with world.connected() as shop:
            shop.executescript(_SCHEMA)
            shop.executemany("INSERT INTO customers VALUES (?, ?, ?)", _CUSTOMERS)
            shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", _ORDERS)
            shop.executemany(
                "INSERT INTO payments VALUES (?, ?, ?, 'card')",
                [(order[0].replace("ORD", "PAY"), order[0], order[3]) for order in _ORDERS],
            )
            shop.executemany("INSERT INTO line_faults VALUES (?)", [(service,) for service in faults])
        return world

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Return a connection of its own to the shop; what was done on it is committed at the end."""
        connection = sqlite3.connect(self.shop)
        connection.row_factory = sqlite3.Row
        try:
            with connection:
                yield connection
        finally:
            connection.close()

    def rows(self, table: str, **where: Value) -> list[Row]:
        """Return the rows of a table that hold these values, in order of id, as a connection of its own sees them."""
        condition = " AND ".join(f"{column} IS ?" for column in where) or "1"
        with self.connected() as shop:
            found = shop.execute(f"SELECT * FROM {table} WHERE {condition} ORDER BY id", tuple(where.values()))
            return [dict(row) for row in found]

    def mails(self) -> dict[str, str]:
        """Return the mails that lie in the mailbox, by file name."""
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(self.mailbox.glob("*.eml"))}

    def snapshot(self) -> str:
        """Return everything that is in the shop and the mailbox now, as the JSON text of an end state."""
        return json.dumps(
            {
                "tables": {table: self.rows(table) for table in TABLES},
                "files": {f"{self.mailbox.name}/{name}": text for name, text in self.mails().items()},
            },
            ensure_ascii=False,
            sort_keys=True,
        )
