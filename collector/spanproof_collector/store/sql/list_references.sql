-- To which long texts does anything of a trace refer? More may be named, never fewer: any 32 hex digits count.
SELECT DISTINCT arrayJoin(extractAll(text, '[0-9a-f]{32}')) AS hash
FROM
(
    SELECT arrayStringConcat(arrayConcat(`attribute.value`, [events, links]), ' ') AS text
    FROM spans
    WHERE project = {project:String} AND trace_id = {trace:String}
    UNION ALL
    SELECT arrayStringConcat(arrayConcat(`attribute.value`, [body]), ' ') AS text
    FROM log_records
    WHERE project = {project:String} AND trace_id = {trace:String}
)
