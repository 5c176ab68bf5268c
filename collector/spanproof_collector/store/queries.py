"""Every statement by name; each stands in a file of its own under ``sql/``, with its values bound."""

from enum import Enum
from functools import cached_property
from pathlib import Path

SQL = Path(__file__).parent / "sql"


class Query(Enum):
    """A statement. The value is the name of its file."""

    COUNT_CONTENT = "count_content"
    COUNT_DEAD_LETTERS = "count_dead_letters"
    COUNT_DELETIONS = "count_deletions"
    COUNT_RESULTS = "count_results"
    COUNT_ROWS = "count_rows"
    COUNT_TRIAL_ROWS = "count_trial_rows"
    CREATE_SCHEMA_VERSION = "create_schema_version"
    DEAD_LETTERS = "dead_letters"
    DELETE_CONTENT = "delete_content"
    DELETE_DEAD_LETTERS = "delete_dead_letters"
    DELETE_LOG_RECORDS = "delete_log_records"
    DELETE_LOG_STEPS = "delete_log_steps"
    DELETE_RESULTS = "delete_results"
    DELETE_SPANS = "delete_spans"
    DELETE_STEPS = "delete_steps"
    DELETE_TRIALS = "delete_trials"
    DELETE_TRIAL_TRACES = "delete_trial_traces"
    DROP_INACTIVE_PARTS = "drop_inactive_parts"
    FIND_DEAD_LETTERS = "find_dead_letters"
    FIND_JOINED_TRACES = "find_joined_traces"
    FIND_LOOSE_LOGS = "find_loose_logs"
    FIND_NAMED_TRACES = "find_named_traces"
    FIND_PROTOCOL_TRACES = "find_protocol_traces"
    FIND_USER_LOG_RECORDS = "find_user_log_records"
    FIND_USER_SPANS = "find_user_spans"
    KEEP_NO_PARTS = "keep_no_parts"
    KEEP_PARTS = "keep_parts"
    LIST_CONTENT = "list_content"
    LIST_DEAD_LETTERS = "list_dead_letters"
    LIST_INACTIVE_PARTS = "list_inactive_parts"
    LIST_JOIN_KEYS = "list_join_keys"
    LIST_LOOSE_LOGS = "list_loose_logs"
    LIST_LOOSE_RECORD_IDS = "list_loose_record_ids"
    LIST_OPEN_DELETIONS = "list_open_deletions"
    LIST_REFERENCES = "list_references"
    LIST_SOME_TRACES = "list_some_traces"
    LIST_STORED_TRACES = "list_stored_traces"
    LIST_TRACES = "list_traces"
    PURGE_TABLE = "purge_table"
    READ_CONTENT = "read_content"
    READ_DEAD_LETTERS = "read_dead_letters"
    READ_DELETIONS = "read_deletions"
    READ_LOG_RECORDS = "read_log_records"
    READ_LOG_RECORDS_BY_ID = "read_log_records_by_id"
    READ_LOOSE_CONTENT = "read_loose_content"
    READ_LOOSE_LOG_RECORDS = "read_loose_log_records"
    READ_PARTS_LIFETIME = "read_parts_lifetime"
    READ_RESULTS = "read_results"
    READ_RESULTS_OF = "read_results_of"
    READ_RETENTION = "read_retention"
    READ_SCHEMA_VERSION = "read_schema_version"
    READ_SPANS = "read_spans"
    READ_STEPS = "read_steps"
    READ_TOKENS = "read_tokens"
    SETTLE_LOG_STEPS = "settle_log_steps"
    SETTLE_STEPS = "settle_steps"

    @cached_property
    def sql(self) -> str:
        """The statement, without the comment that opens its file."""
        lines = (SQL / f"{self.value}.sql").read_text().splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith("--")).strip()
