-- Which migrations ran here? One row each; the greatest version is the store's.
CREATE TABLE IF NOT EXISTS schema_version
(
    version    UInt32,
    name       String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS non_replicated_deduplication_window = 100
