-- Which traces name one of these sessions? The trace '' stands for log records that name none. No more than so many.
SELECT DISTINCT project, trace_id FROM steps WHERE session_id IN {values:Array(String)} LIMIT {limit:UInt32}
UNION ALL
SELECT DISTINCT project, trace_id FROM log_steps WHERE session_id IN {values:Array(String)} LIMIT {limit:UInt32}
SETTINGS max_threads = 1
