-- Which traces are there, from when to when, and by which sessions, labels and names can they be asked for?
SELECT project, trace_id, min(first) AS first, max(last) AS last,
       arraySort(groupUniqArrayArray(sessions)), arraySort(groupUniqArrayArray(trials)),
       min(protocol), max(received), max(logged),
       groupUniqArrayArray(tasks), groupUniqArrayArray(suites), groupUniqArrayArray(variants)
FROM
(
    SELECT project, trace_id, min(start_unix_nano) AS first, max(end_unix_nano) AS last,
           groupUniqArrayIf(session_id, session_id != '') AS sessions, groupUniqArrayIf(trial_id, trial_id != '') AS trials,
           min(dialect = 'mcp' AND kind = 'other') AS protocol,
           max(toUnixTimestamp64Milli(ingested_at)) AS received,
           0 AS logged,
           groupUniqArrayIf(toString(task_id), task_id != '') AS tasks,
           groupUniqArrayIf(toString(suite), suite != '') AS suites,
           groupUniqArrayIf(toString(variant), variant != '') AS variants
    FROM steps
    GROUP BY project, trace_id
    UNION ALL
    SELECT project, trace_id, min(time_unix_nano) AS first, max(time_unix_nano) AS last,
           groupUniqArrayIf(session_id, session_id != '') AS sessions, groupUniqArrayIf(trial_id, trial_id != '') AS trials,
           0 AS protocol,
           max(toUnixTimestamp64Milli(ingested_at)) AS received,
           1 AS logged,
           [] AS tasks, [] AS suites, [] AS variants
    FROM log_steps
    WHERE trace_id != ''
    GROUP BY project, trace_id
)
GROUP BY project, trace_id
ORDER BY first, trace_id
