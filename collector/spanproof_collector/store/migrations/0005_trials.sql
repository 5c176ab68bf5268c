-- Trials as they were last read: what a rule in SQL can rest on. Derived; the next evaluation writes it again.

-- One row a trial. Hashes are the first eight bytes of a SHA-256, little end first; 0: not recorded. Texts that a span
-- sent (arguments, results, answers) are not here, only their hashes. Calls and attempts are in the trial's order.
CREATE TABLE IF NOT EXISTS trials
(
    project            LowCardinality(String),
    unit               LowCardinality(String),
    trial              String CODEC(ZSTD(1)),
    trial_id           String CODEC(ZSTD(1)),
    joined_by          LowCardinality(String),
    task_id            LowCardinality(String),
    attempt_number     Nullable(Int32) CODEC(ZSTD(1)),
    variant            LowCardinality(String),
    suite              LowCardinality(String),
    agent              LowCardinality(String),
    models             Array(LowCardinality(String)) CODEC(ZSTD(1)),
    started_at         UInt64 CODEC(ZSTD(1)),
    ended_at           UInt64 CODEC(ZSTD(1)),
    timed              Bool,
    settled            Bool,
    status             LowCardinality(String),
    status_reason      LowCardinality(String),
    left_out           LowCardinality(String),
    understood         Bool,
    root_missing       Bool,
    calls_whole        Bool,
    unmetered_calls    UInt32 CODEC(T64, ZSTD(1)),
    steps              UInt32 CODEC(T64, ZSTD(1)),
    model_calls        UInt32 CODEC(T64, ZSTD(1)),
    input_tokens       Nullable(UInt64) CODEC(T64, ZSTD(1)),
    output_tokens      Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cost_usd           Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
    cost_covered       Bool,
    claim              LowCardinality(String),
    claim_source       LowCardinality(String),
    claim_rule         LowCardinality(String),
    claim_span         String CODEC(ZSTD(1)),
    `call.tool`        Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.span`        Array(String) CODEC(ZSTD(1)),
    `call.started_at`  Array(UInt64) CODEC(ZSTD(1)),
    `call.executed`    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.class`       Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.state`       Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.reason`      Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.taken_for`   Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.watched`     Array(Bool) CODEC(ZSTD(1)),
    `call.signature`   Array(UInt64) CODEC(ZSTD(1)),
    `call.identity`    Array(UInt64) CODEC(ZSTD(1)),
    `call.change`      Array(UInt64) CODEC(ZSTD(1)),
    `call.key`         Array(UInt64) CODEC(ZSTD(1)),
    `call.adds_up`     Array(Bool) CODEC(ZSTD(1)),
    `call.receipts`    Array(UInt32) CODEC(ZSTD(1)),
    `call.observed`    Array(Array(UInt64)) CODEC(ZSTD(1)),
    `call.asked_by`    Array(String) CODEC(ZSTD(1)),
    `call.declares`    Array(Bool) CODEC(ZSTD(1)),
    `call.changed`     Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `call.answered`    Array(Bool) CODEC(ZSTD(1)),
    `call.answer`      Array(UInt64) CODEC(ZSTD(1)),
    `call.error`       Array(UInt64) CODEC(ZSTD(1)),
    declared_at        Nullable(UInt64) CODEC(ZSTD(1)),
    `inference.span`       Array(String) CODEC(ZSTD(1)),
    `inference.agent`      Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `inference.own`        Array(Bool) CODEC(ZSTD(1)),
    `inference.failed`     Array(Bool) CODEC(ZSTD(1)),
    `inference.prompted`   Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `inference.started_at` Array(UInt64) CODEC(ZSTD(1)),
    `error.span`       Array(String) CODEC(ZSTD(1)),
    `error.class`      Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attempt.tool`     Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attempt.state`    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attempt.reason`   Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attempt.span`     Array(String) CODEC(ZSTD(1)),
    evidence           String CODEC(ZSTD(1)),
    read_at            UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(read_at)
ORDER BY (project, unit, trial)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- One row a trace: the trials that it was found to be part of when it was last read, and how much of it there was.
-- Log records that name no trace stand as one of their session and label, as everywhere.
CREATE TABLE IF NOT EXISTS trial_traces
(
    project     LowCardinality(String),
    unit        LowCardinality(String),
    trace_id    String CODEC(ZSTD(1)),
    trials      Array(String) CODEC(ZSTD(1)),
    spans       UInt32 CODEC(T64, ZSTD(1)),
    log_records UInt32 CODEC(T64, ZSTD(1)),
    received    UInt64 CODEC(ZSTD(1)),
    read_at     UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(read_at)
ORDER BY (project, unit, trace_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- Traces as they are now: how many spans and log records, and when the last of them came, in milliseconds.
CREATE VIEW IF NOT EXISTS stored_traces AS
SELECT project, trace_id, sum(spans) AS spans, sum(log_records) AS log_records, max(received) AS received
FROM
(
    SELECT project, trace_id, uniqExact(span_id) AS spans, 0 AS log_records,
           toUInt64(max(toUnixTimestamp64Milli(ingested_at))) AS received
    FROM steps
    GROUP BY project, trace_id
    UNION ALL
    SELECT project, if(trace_id = '', concat('\0', session_id, '\0', trial_id), trace_id) AS trace_id, 0 AS spans,
           uniqExact(record_id) AS log_records, toUInt64(max(toUnixTimestamp64Milli(ingested_at))) AS received
    FROM log_steps
    GROUP BY project, trace_id
)
GROUP BY project, trace_id;

-- The trials that were settled when they were read, or evaluated all the same, and that are still what is stored:
-- nothing came to any of their traces since, and no later reading put those traces together in another way.
CREATE VIEW IF NOT EXISTS current_trials AS
SELECT *
FROM trials FINAL
WHERE settled AND (project, unit, trial) IN
(
    SELECT read.project, read.unit, read.trial
    FROM (SELECT project, unit, trace_id, spans, log_records, received, read_at, arrayJoin(trials) AS trial FROM trial_traces FINAL) AS read
    LEFT JOIN stored_traces AS now ON now.project = read.project AND now.trace_id = read.trace_id
    GROUP BY read.project, read.unit, read.trial
    HAVING min(now.spans <= read.spans AND now.log_records <= read.log_records AND now.received <= read.received)
)
SETTINGS join_use_nulls = 0;

-- The calls of those trials, one row each, numbered from 1; a trial without a call has one row, number 0.
CREATE VIEW IF NOT EXISTS current_calls AS
SELECT project, unit, trial, task_id, variant, understood, root_missing, calls_whole, status,
       at, tool, span, executed, class, effect, signature, change, key, adds_up, receipts, observed, reason,
       asked_by, changed, answered, answer, error
FROM current_trials
LEFT ARRAY JOIN
    arrayEnumerate(`call.tool`) AS at, `call.tool` AS tool, `call.span` AS span, `call.executed` AS executed,
    `call.class` AS class, `call.state` AS effect, `call.signature` AS signature, `call.change` AS change,
    `call.key` AS key, `call.adds_up` AS adds_up, `call.receipts` AS receipts, `call.observed` AS observed,
    `call.reason` AS reason, `call.asked_by` AS asked_by, `call.changed` AS changed, `call.answered` AS answered,
    `call.answer` AS answer, `call.error` AS error;
