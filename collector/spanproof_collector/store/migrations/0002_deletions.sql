-- Deletions on request and by age, and how long each project is kept.

-- What was deleted, when, and how much. A row when rows begin to go, one when they are gone, one for the whole with its
-- counts. How many rows there are tells writers that something went: what they remember of the store is void then.
-- It names neither what was asked for nor what went.
CREATE TABLE IF NOT EXISTS deletions
(
    deletion_id  String,
    event        LowCardinality(String),
    at           DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    reason       LowCardinality(String),
    trials       UInt64,
    spans        UInt64,
    log_records  UInt64,
    content_rows UInt64,
    results      UInt64,
    dead_letters UInt64,
    bytes        UInt64
)
ENGINE = MergeTree
ORDER BY (at, deletion_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- How many days each project is kept; the last word stands. The project '' stands for every one that is not named.
-- No days: it is kept for good.
CREATE TABLE IF NOT EXISTS retention
(
    project String,
    days    Nullable(UInt32),
    set_at  DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree(set_at)
ORDER BY project
SETTINGS non_replicated_deduplication_window = 10000;
