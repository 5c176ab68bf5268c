-- Which traces are one of these, in whatever project? No more than so many.
SELECT DISTINCT project, trace_id FROM steps WHERE trace_id IN {values:Array(String)} LIMIT {limit:UInt32}
UNION ALL
SELECT DISTINCT project, trace_id FROM log_steps WHERE trace_id IN {values:Array(String)} LIMIT {limit:UInt32}
SETTINGS max_threads = 1
