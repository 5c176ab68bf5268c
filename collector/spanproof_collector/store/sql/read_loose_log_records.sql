-- What log records without a trace were sent of these sessions and trials? No more than so many of each.
SELECT trace_id, span_id, record_id, time_unix_nano, observed_unix_nano, severity, severity_text, event_name, body_type,
       body, `attribute.key`, `attribute.type`, `attribute.value`, dropped_attributes, flags, resource, scope, source, path,
       toUnixTimestamp64Milli(log_records.ingested_at) AS received_milli, session_id, trial_id
FROM log_records
INNER JOIN
(
    SELECT DISTINCT record_id, session_id, trial_id
    FROM log_steps
    WHERE project = {project:String} AND trace_id = '' AND time_unix_nano BETWEEN {first:UInt64} AND {last:UInt64}
      AND (session_id, trial_id) IN (SELECT arrayJoin(arrayZip({sessions:Array(String)}, {trials:Array(String)})))
) AS steps USING (record_id)
WHERE project = {project:String} AND trace_id = '' AND time_unix_nano BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY session_id, trial_id, time_unix_nano, record_id
LIMIT {limit:UInt32} BY session_id, trial_id
