-- Which log records name no trace, from when to when, and by which session or trial can they be asked for?
SELECT project, session_id, trial_id, min(time_unix_nano) AS first, max(time_unix_nano) AS last,
       max(toUnixTimestamp64Milli(ingested_at)) AS received
FROM log_steps
WHERE trace_id = '' AND (session_id != '' OR trial_id != '')
GROUP BY project, session_id, trial_id
ORDER BY first, project, session_id, trial_id
