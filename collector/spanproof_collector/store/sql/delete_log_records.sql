-- Take away log records of these traces: those named, or all where none is named.
DELETE FROM log_records
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({records:Array(String)}) OR record_id IN {records:Array(String)})
