-- What the steps and log records of these traces say of them, row by row: they are few, and grouping here costs as much
-- again as reading.
SELECT project, trace_id, start_unix_nano, end_unix_nano, session_id, trial_id, dialect = 'mcp' AND kind = 'other' AS protocol,
       toUnixTimestamp64Milli(ingested_at), 0 AS logged, task_id, suite, variant, join_keys
FROM steps
WHERE project IN {projects:Array(String)} AND trace_id IN {traces:Array(String)}
UNION ALL
SELECT project, trace_id, time_unix_nano, time_unix_nano, session_id, trial_id, 0 AS protocol,
       toUnixTimestamp64Milli(ingested_at), 1 AS logged, '', '', '', join_keys
FROM log_steps
WHERE project IN {projects:Array(String)} AND trace_id IN {traces:Array(String)}
SETTINGS max_threads = 1
