"""How long things are kept, and how they go: by age, on request, and with nothing left behind."""

from spanproof_collector.retention.ages import apply_retention
from spanproof_collector.retention.deleting import Deleted, delete, delete_sessions, delete_user
from spanproof_collector.retention.periodic import RETENTION_SECONDS, keep_retention
from spanproof_collector.retention.policies import (
    EVERY_OTHER,
    Policies,
    RetentionError,
    read_policies,
    set_policy,
)

__all__ = [
    "EVERY_OTHER",
    "RETENTION_SECONDS",
    "Deleted",
    "Policies",
    "RetentionError",
    "apply_retention",
    "delete",
    "delete_sessions",
    "delete_user",
    "keep_retention",
    "read_policies",
    "set_policy",
]
