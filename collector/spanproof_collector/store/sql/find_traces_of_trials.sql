-- Which traces name one of these trials? The trace '' stands for log records that name none. No more than so many.
SELECT DISTINCT project, trace_id FROM steps WHERE trial_id IN {values:Array(String)} LIMIT {limit:UInt32}
UNION ALL
SELECT DISTINCT project, trace_id FROM log_steps WHERE trial_id IN {values:Array(String)} LIMIT {limit:UInt32}
SETTINGS max_threads = 1
