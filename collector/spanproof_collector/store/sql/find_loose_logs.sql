-- Which log records name no trace, but one of these trials or sessions, and from when to when?
SELECT project, session_id, trial_id, min(time_unix_nano) AS first, max(time_unix_nano) AS last, max(milli) AS received
FROM
(
    SELECT project, session_id, trial_id, time_unix_nano, toUnixTimestamp64Milli(ingested_at) AS milli
    FROM log_steps
    WHERE trace_id = '' AND trial_id IN {trials:Array(String)} AND trial_id != ''
    UNION ALL
    SELECT project, session_id, trial_id, time_unix_nano, toUnixTimestamp64Milli(ingested_at) AS milli
    FROM log_steps
    WHERE trace_id = '' AND session_id IN {sessions:Array(String)} AND session_id != ''
)
GROUP BY project, session_id, trial_id
ORDER BY first, project, session_id, trial_id
LIMIT {limit:UInt32}
SETTINGS max_threads = 1
