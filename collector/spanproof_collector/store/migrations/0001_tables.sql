-- Spans and log records as they came, message content once per trace, and the canonical projection that can be
-- dropped and rebuilt. One text for the embedded engine and for a server. Statements end with a semicolon and a line
-- break; every one can be run again.

-- Spans, verbatim. Ids are lower-case hex as sent. Times are Unix nanoseconds as sent, never clamped.
-- attribute.type: what the AnyValue was, and where its value is; see store/values.py.
-- The sort key makes a trace one contiguous range; the partition depends on the span's own time, so a resend lands
-- where the first one did. Of two versions of a span the richer stands.
CREATE TABLE IF NOT EXISTS spans
(
    project            LowCardinality(String),
    trace_id           String CODEC(ZSTD(1)),
    span_id            String CODEC(ZSTD(1)),
    parent_span_id     String CODEC(ZSTD(1)),
    start_unix_nano    UInt64 CODEC(Delta(8), ZSTD(1)),
    end_unix_nano      UInt64 CODEC(Delta(8), ZSTD(1)),
    name               LowCardinality(String),
    kind               UInt8,
    status             UInt8,
    status_message     String CODEC(ZSTD(1)),
    trace_state        String CODEC(ZSTD(1)),
    flags              UInt32 CODEC(T64, ZSTD(1)),
    `attribute.key`    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attribute.type`   Array(UInt8) CODEC(ZSTD(1)),
    `attribute.value`  Array(String) CODEC(ZSTD(3)),
    dropped_attributes UInt32 CODEC(T64, ZSTD(1)),
    events             String CODEC(ZSTD(3)),
    dropped_events     UInt32 CODEC(T64, ZSTD(1)),
    links              String CODEC(ZSTD(1)),
    dropped_links      UInt32 CODEC(T64, ZSTD(1)),
    resource           LowCardinality(String) CODEC(ZSTD(1)),
    scope              LowCardinality(String) CODEC(ZSTD(1)),
    source             LowCardinality(String),
    path               LowCardinality(String),
    month              Date MATERIALIZED if(start_unix_nano >= 946684800000000000 AND start_unix_nano < 4102444800000000000, toStartOfMonth(toDate(intDiv(start_unix_nano, 1000000000))), toDate(0)),
    version            UInt64 CODEC(ZSTD(1)),
    ingested_at        DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY month
ORDER BY (project, trace_id, start_unix_nano, span_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- Log records, verbatim. record_id is a hash of the whole record, so that a resend is the same row.
CREATE TABLE IF NOT EXISTS log_records
(
    project            LowCardinality(String),
    trace_id           String CODEC(ZSTD(1)),
    span_id            String CODEC(ZSTD(1)),
    record_id          String CODEC(ZSTD(1)),
    time_unix_nano     UInt64 CODEC(Delta(8), ZSTD(1)),
    observed_unix_nano UInt64 CODEC(Delta(8), ZSTD(1)),
    severity           UInt8,
    severity_text      LowCardinality(String),
    event_name         LowCardinality(String),
    body_type          UInt8,
    body               String CODEC(ZSTD(3)),
    `attribute.key`    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `attribute.type`   Array(UInt8) CODEC(ZSTD(1)),
    `attribute.value`  Array(String) CODEC(ZSTD(3)),
    dropped_attributes UInt32 CODEC(T64, ZSTD(1)),
    flags              UInt32 CODEC(T64, ZSTD(1)),
    resource           LowCardinality(String) CODEC(ZSTD(1)),
    scope              LowCardinality(String) CODEC(ZSTD(1)),
    source             LowCardinality(String),
    path               LowCardinality(String),
    month              Date MATERIALIZED if(greatest(time_unix_nano, observed_unix_nano) >= 946684800000000000 AND greatest(time_unix_nano, observed_unix_nano) < 4102444800000000000, toStartOfMonth(toDate(intDiv(greatest(time_unix_nano, observed_unix_nano), 1000000000))), toDate(0)),
    ingested_at        DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY month
ORDER BY (project, trace_id, time_unix_nano, record_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- Long values and messages, each once per trace, by hash: sha256(body)[:16] in hex. Duplicates are harmless.
CREATE TABLE IF NOT EXISTS content
(
    project     LowCardinality(String),
    trace_id    String CODEC(ZSTD(1)),
    hash        FixedString(32) CODEC(ZSTD(1)),
    body        String CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree
ORDER BY (project, trace_id, hash)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 10000;

-- The canonical projection: one row a span, whatever its dialect. Derived from `spans`; drop and rebuild it at will.
CREATE TABLE IF NOT EXISTS steps
(
    project            LowCardinality(String),
    trace_id           String CODEC(ZSTD(1)),
    span_id            String CODEC(ZSTD(1)),
    parent_span_id     String CODEC(ZSTD(1)),
    start_unix_nano    UInt64 CODEC(Delta(8), ZSTD(1)),
    end_unix_nano      UInt64 CODEC(Delta(8), ZSTD(1)),
    kind               LowCardinality(String),
    dialect            LowCardinality(String),
    operation          LowCardinality(String),
    name               LowCardinality(String),
    provider           LowCardinality(String),
    model              LowCardinality(String),
    agent              LowCardinality(String),
    session_id         String CODEC(ZSTD(1)),
    trial_id           String CODEC(ZSTD(1)),
    task_id            LowCardinality(String),
    attempt            Nullable(Int32) CODEC(ZSTD(1)),
    variant            LowCardinality(String),
    suite              LowCardinality(String),
    input_tokens       Nullable(UInt64) CODEC(T64, ZSTD(1)),
    output_tokens      Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cache_read_tokens  Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cache_write_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    reasoning_tokens   Nullable(UInt64) CODEC(T64, ZSTD(1)),
    tool_name          LowCardinality(String),
    tool_call_id       String CODEC(ZSTD(1)),
    arguments_hash     UInt64 CODEC(ZSTD(1)),
    result_hash        UInt64 CODEC(ZSTD(1)),
    failed             Bool,
    error_type         LowCardinality(String),
    join_keys          Array(String) CODEC(ZSTD(1)),
    month              Date MATERIALIZED if(start_unix_nano >= 946684800000000000 AND start_unix_nano < 4102444800000000000, toStartOfMonth(toDate(intDiv(start_unix_nano, 1000000000))), toDate(0)),
    version            UInt64 CODEC(ZSTD(1)),
    ingested_at        DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY month
ORDER BY (project, trace_id, start_unix_nano, span_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- The projection of a log record. Derived from `log_records`; drop and rebuild it at will.
-- join_keys, here and in `steps`: what traces without a session are joined by (tool-call ids, hashes of a history).
CREATE TABLE IF NOT EXISTS log_steps
(
    project        LowCardinality(String),
    trace_id       String CODEC(ZSTD(1)),
    span_id        String CODEC(ZSTD(1)),
    record_id      String CODEC(ZSTD(1)),
    time_unix_nano UInt64 CODEC(Delta(8), ZSTD(1)),
    dialect        LowCardinality(String),
    event_name     LowCardinality(String),
    session_id     String CODEC(ZSTD(1)),
    trial_id       String CODEC(ZSTD(1)),
    join_keys      Array(String) CODEC(ZSTD(1)),
    ingested_at    DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (project, trace_id, time_unix_nano, record_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- What evaluators said of trials; the latest word of each evaluator stands.
CREATE TABLE IF NOT EXISTS results
(
    project      LowCardinality(String),
    trial_id     String CODEC(ZSTD(1)),
    evaluator    LowCardinality(String),
    version      LowCardinality(String),
    kind         LowCardinality(String),
    state        LowCardinality(String),
    score        Nullable(Float64),
    label        String CODEC(ZSTD(1)),
    reason       LowCardinality(String),
    explanation  String CODEC(ZSTD(1)),
    span_ids     Array(String) CODEC(ZSTD(1)),
    details      String CODEC(ZSTD(1)),
    evaluated_at DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(evaluated_at)
ORDER BY (project, trial_id, evaluator)
SETTINGS non_replicated_deduplication_window = 10000;

-- What was rejected, with the reason and the bytes.
CREATE TABLE IF NOT EXISTS dead_letters
(
    letter_id   String,
    received_at DateTime64(3, 'UTC'),
    signal      LowCardinality(String),
    origin      String,
    reason      String,
    bytes       String CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree
ORDER BY (letter_id)
SETTINGS non_replicated_deduplication_window = 10000;
