-- What was sent of these traces? In no order, and a span that came again may be there twice: readers choose and sort, which
-- costs them next to nothing and the engine a sixth of the statement.
SELECT trace_id, span_id, parent_span_id, start_unix_nano, end_unix_nano, name, kind, status, status_message, trace_state,
       flags, `attribute.key`, `attribute.type`, `attribute.value`, dropped_attributes, events, dropped_events, links,
       dropped_links, resource, scope, source, path, version,
       toUnixTimestamp64Milli(ingested_at) AS received_milli
FROM spans
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
SETTINGS max_threads = 1
