-- What was done in a trace, a page of it, without any payload? Of a span that came again the richest version stands.
SELECT span_id, parent_span_id, start_unix_nano, end_unix_nano, kind, name, failed
FROM
(
    SELECT span_id, parent_span_id, start_unix_nano, end_unix_nano, kind, name, failed
    FROM steps
    WHERE project = {project:String} AND trace_id = {trace:String}
    ORDER BY version DESC, ingested_at DESC
    LIMIT 1 BY span_id
)
WHERE (start_unix_nano, span_id) > ({start:UInt64}, {span:String})
ORDER BY start_unix_nano, span_id
LIMIT {limit:UInt32}
