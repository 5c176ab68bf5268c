-- What log records were sent of these traces? In no order; a record that came twice has one id.
SELECT trace_id, span_id, record_id, time_unix_nano, observed_unix_nano, severity, severity_text, event_name, body_type,
       body, `attribute.key`, `attribute.type`, `attribute.value`, dropped_attributes, flags, resource, scope, source, path,
       toUnixTimestamp64Milli(ingested_at) AS received_milli
FROM log_records
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
SETTINGS max_threads = 1
