-- What was sent of these traces? Along the sort key; of a span that came again the richest version stands, of
-- equal ones that of the last path, which is what files in their order leave.
SELECT trace_id, span_id, parent_span_id, start_unix_nano, end_unix_nano, name, kind, status, status_message, trace_state,
       flags, `attribute.key`, `attribute.type`, `attribute.value`, dropped_attributes, events, dropped_events, links,
       dropped_links, resource, scope, source, path, version,
       toUnixTimestamp64Milli(ingested_at) AS received_milli
FROM spans
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
ORDER BY trace_id, start_unix_nano, span_id, version DESC, path DESC
LIMIT 1 BY trace_id, start_unix_nano, span_id
