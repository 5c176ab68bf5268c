-- A trace is read without opening the parts that have nothing of it: the sort key names a granule of every part that
-- could hold it, and its filter says of nearly all of them that they do not. A fifteenth of a byte a span and table.
ALTER TABLE spans ADD INDEX IF NOT EXISTS traces trace_id TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE log_records ADD INDEX IF NOT EXISTS traces trace_id TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE content ADD INDEX IF NOT EXISTS traces trace_id TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE steps ADD INDEX IF NOT EXISTS traces trace_id TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE log_steps ADD INDEX IF NOT EXISTS traces trace_id TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE spans MATERIALIZE INDEX traces;
ALTER TABLE log_records MATERIALIZE INDEX traces;
ALTER TABLE content MATERIALIZE INDEX traces;
ALTER TABLE steps MATERIALIZE INDEX traces;
ALTER TABLE log_steps MATERIALIZE INDEX traces;
