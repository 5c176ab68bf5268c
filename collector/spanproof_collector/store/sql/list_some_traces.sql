-- What LIST_TRACES and LIST_JOIN_KEYS say, of these traces alone.
SELECT project, trace_id, min(first) AS first, max(last) AS last,
       arraySort(groupUniqArrayArray(sessions)), arraySort(groupUniqArrayArray(trials)),
       min(protocol), max(received),
       groupUniqArrayArray(tasks), groupUniqArrayArray(suites), groupUniqArrayArray(variants),
       groupUniqArrayArray(keys)
FROM
(
    SELECT project, trace_id, min(start_unix_nano) AS first, max(end_unix_nano) AS last,
           groupUniqArrayIf(session_id, session_id != '') AS sessions, groupUniqArrayIf(trial_id, trial_id != '') AS trials,
           min(dialect = 'mcp' AND kind = 'other') AS protocol,
           max(toUnixTimestamp64Milli(ingested_at)) AS received,
           groupUniqArrayIf(toString(task_id), task_id != '') AS tasks,
           groupUniqArrayIf(toString(suite), suite != '') AS suites,
           groupUniqArrayIf(toString(variant), variant != '') AS variants,
           groupUniqArrayArray(join_keys) AS keys
    FROM steps
    WHERE project IN {projects:Array(String)} AND trace_id IN {traces:Array(String)}
    GROUP BY project, trace_id
    UNION ALL
    SELECT project, trace_id, min(time_unix_nano) AS first, max(time_unix_nano) AS last,
           groupUniqArrayIf(session_id, session_id != '') AS sessions, groupUniqArrayIf(trial_id, trial_id != '') AS trials,
           0 AS protocol,
           max(toUnixTimestamp64Milli(ingested_at)) AS received,
           [] AS tasks, [] AS suites, [] AS variants,
           groupUniqArrayArray(join_keys) AS keys
    FROM log_steps
    WHERE project IN {projects:Array(String)} AND trace_id IN {traces:Array(String)}
    GROUP BY project, trace_id
)
GROUP BY project, trace_id
ORDER BY first, trace_id
