-- Who may send and who may read: of a token only its hash is kept, and a removed one keeps its row.

CREATE TABLE IF NOT EXISTS tokens
(
    token_id   String,
    name       String,
    scopes     Array(LowCardinality(String)),
    hash       String,
    created_at DateTime64(3, 'UTC'),
    removed    Bool,
    version    UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY token_id
SETTINGS non_replicated_deduplication_window = 10000;
