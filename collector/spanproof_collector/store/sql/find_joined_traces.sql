-- Which traces have one of these keys, and which have one of those on what names neither session nor trial?
-- No more than so many.
SELECT DISTINCT project, trace_id
FROM
(
    SELECT project, trace_id FROM steps WHERE hasAny(join_keys, {keys:Array(String)})
    UNION ALL
    SELECT project, trace_id FROM log_steps WHERE hasAny(join_keys, {keys:Array(String)})
    UNION ALL
    SELECT project, trace_id FROM steps
    WHERE hasAny(join_keys, {bare:Array(String)}) AND session_id = '' AND trial_id = ''
    UNION ALL
    SELECT project, trace_id FROM log_steps
    WHERE hasAny(join_keys, {bare:Array(String)}) AND session_id = '' AND trial_id = ''
)
WHERE trace_id != ''
LIMIT {limit:UInt32}
