-- How much is there of these traces: of all of it, or of the spans and log records that are named?
SELECT 'spans' AS name, uniqExact((trace_id, span_id)) AS count, sum(byteSize(*)) AS bytes
FROM spans
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({spans:Array(String)}) OR span_id IN {spans:Array(String)})
UNION ALL
SELECT 'log_records' AS name, uniqExact((trace_id, record_id)) AS count, sum(byteSize(*)) AS bytes
FROM log_records
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({records:Array(String)}) OR record_id IN {records:Array(String)})
