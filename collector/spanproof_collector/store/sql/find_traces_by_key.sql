-- Which traces have one of these join keys? No more than so many.
SELECT DISTINCT project, trace_id FROM steps
WHERE hasAny(join_keys, {values:Array(String)}) LIMIT {limit:UInt32}
UNION ALL
SELECT DISTINCT project, trace_id FROM log_steps
WHERE hasAny(join_keys, {values:Array(String)}) AND trace_id != '' LIMIT {limit:UInt32}
SETTINGS max_threads = 1
