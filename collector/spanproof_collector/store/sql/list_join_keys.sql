-- By what can traces be joined to the traces that carry no session?
SELECT project, trace_id, groupUniqArrayArray(join_keys) AS keys
FROM
(
    SELECT project, trace_id, join_keys FROM steps WHERE notEmpty(join_keys)
    UNION ALL
    SELECT project, trace_id, join_keys FROM log_steps WHERE notEmpty(join_keys) AND trace_id != ''
)
GROUP BY project, trace_id
