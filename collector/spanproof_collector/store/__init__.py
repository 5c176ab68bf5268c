"""The store: spans, logs and results in ClickHouse, embedded or on a server, through one class."""

from spanproof_collector.store.deleting import Counted, Deletion, Part, count, count_results, purge
from spanproof_collector.store.deriving import insert_derived
from spanproof_collector.store.holding import Serving, advertise, serving_now, withdraw
from spanproof_collector.store.loose import LooseKey, LooseLogs, find_loose_logs, list_loose_logs, read_loose_logs
from spanproof_collector.store.opening import open_store
from spanproof_collector.store.paging import StepCursor, StepRow, read_steps
from spanproof_collector.store.queries import Query
from spanproof_collector.store.records import Records
from spanproof_collector.store.store import DeadLetter, Store
from spanproof_collector.store.whole import WholeLog, WholeSpan, WholeTrace, read_loose_whole, read_whole

__all__ = [
    "Counted",
    "DeadLetter",
    "Deletion",
    "LooseKey",
    "LooseLogs",
    "Part",
    "Query",
    "Records",
    "Serving",
    "StepCursor",
    "StepRow",
    "Store",
    "WholeLog",
    "WholeSpan",
    "WholeTrace",
    "advertise",
    "count",
    "count_results",
    "find_loose_logs",
    "insert_derived",
    "list_loose_logs",
    "open_store",
    "purge",
    "read_loose_logs",
    "read_loose_whole",
    "read_steps",
    "read_whole",
    "serving_now",
    "withdraw",
]
