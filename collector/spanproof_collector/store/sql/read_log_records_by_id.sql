-- What do these log records say that name no trace?
SELECT trace_id, span_id, record_id, time_unix_nano, observed_unix_nano, severity, severity_text, event_name, body_type,
       body, `attribute.key`, `attribute.type`, `attribute.value`, dropped_attributes, flags, resource, scope, source, path
FROM log_records
WHERE project = {project:String} AND trace_id = '' AND record_id IN {records:Array(String)}
ORDER BY time_unix_nano, record_id
LIMIT 1 BY time_unix_nano, record_id
