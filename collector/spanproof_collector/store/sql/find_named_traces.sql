-- Which traces name one of these trials or sessions, or are one of these? The trace '' stands for log records that name
-- none. No more than so many.
SELECT DISTINCT project, trace_id
FROM
(
    SELECT project, trace_id FROM steps WHERE trial_id IN {trials:Array(String)}
    UNION ALL
    SELECT project, trace_id FROM steps WHERE session_id IN {sessions:Array(String)}
    UNION ALL
    SELECT project, trace_id FROM steps WHERE trace_id IN {traces:Array(String)}
    UNION ALL
    SELECT project, trace_id FROM log_steps WHERE trial_id IN {trials:Array(String)}
    UNION ALL
    SELECT project, trace_id FROM log_steps WHERE session_id IN {sessions:Array(String)}
    UNION ALL
    SELECT project, trace_id FROM log_steps WHERE trace_id IN {traces:Array(String)}
)
LIMIT {limit:UInt32}
