"""Every statement by name; each stands in a file of its own under ``sql/``, with its values bound."""

from enum import Enum
from functools import cached_property
from pathlib import Path

SQL = Path(__file__).parent / "sql"


class Query(Enum):
    """A statement. The value is the name of its file."""

    COUNT_DEAD_LETTERS = "count_dead_letters"
    CREATE_SCHEMA_VERSION = "create_schema_version"
    DEAD_LETTERS = "dead_letters"
    LIST_JOIN_KEYS = "list_join_keys"
    LIST_LOOSE_LOGS = "list_loose_logs"
    LIST_STORED_TRACES = "list_stored_traces"
    LIST_TRACES = "list_traces"
    READ_CONTENT = "read_content"
    READ_DELETIONS = "read_deletions"
    READ_LOOSE_CONTENT = "read_loose_content"
    READ_LOOSE_LOG_RECORDS = "read_loose_log_records"
    READ_LOG_RECORDS = "read_log_records"
    READ_LOG_RECORDS_BY_ID = "read_log_records_by_id"
    READ_RESULTS = "read_results"
    READ_RESULTS_OF = "read_results_of"
    READ_SCHEMA_VERSION = "read_schema_version"
    READ_SPANS = "read_spans"
    READ_TOKENS = "read_tokens"
    SETTLE_LOG_STEPS = "settle_log_steps"
    SETTLE_STEPS = "settle_steps"

    @cached_property
    def sql(self) -> str:
        """The statement, without the comment that opens its file."""
        lines = (SQL / f"{self.value}.sql").read_text().splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith("--")).strip()
