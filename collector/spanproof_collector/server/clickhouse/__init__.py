"""The ClickHouse HTTP protocol over the embedded engine, for the other commands of the machine that holds it.

One process has the engine; every other reaches the store through this, with an ordinary ClickHouse client. It listens
on loopback, on a port and with a token of its own, and runs one statement a request; ``statements`` says which.
Sessions, external data and progress headers are not served: a ``session_id`` is ignored.
"""

from spanproof_collector.server.clickhouse.endpoint import ClickHouseEndpoint

__all__ = ["ClickHouseEndpoint"]
