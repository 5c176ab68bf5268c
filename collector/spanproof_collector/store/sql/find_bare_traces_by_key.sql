-- Which traces have one of these join keys on what names neither session nor trial? No more than so many. The engine asks
-- the filters of sessions and trials about a list of values, but not about equality with ''.
SELECT DISTINCT project, trace_id FROM steps
WHERE hasAny(join_keys, {values:Array(String)}) AND session_id IN ('') AND trial_id IN ('')
LIMIT {limit:UInt32}
UNION ALL
SELECT DISTINCT project, trace_id FROM log_steps
WHERE hasAny(join_keys, {values:Array(String)}) AND session_id IN ('') AND trial_id IN ('') AND trace_id != ''
LIMIT {limit:UInt32}
SETTINGS max_threads = 1
