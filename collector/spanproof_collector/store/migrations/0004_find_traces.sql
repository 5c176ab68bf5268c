-- A trial is found by its label, its session or what it is joined by without reading the whole projection: a granule
-- is read only where its filter says that the value may be in it. What was stored before gets its filters in the
-- background.
ALTER TABLE steps
    ADD INDEX IF NOT EXISTS trials trial_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS sessions session_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS joins join_keys TYPE bloom_filter(0.001) GRANULARITY 1;
ALTER TABLE log_steps
    ADD INDEX IF NOT EXISTS trials trial_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS sessions session_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS joins join_keys TYPE bloom_filter(0.001) GRANULARITY 1;
ALTER TABLE steps MATERIALIZE INDEX trials, MATERIALIZE INDEX sessions, MATERIALIZE INDEX joins;
ALTER TABLE log_steps MATERIALIZE INDEX trials, MATERIALIZE INDEX sessions, MATERIALIZE INDEX joins;
