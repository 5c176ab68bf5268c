-- Take away spans of these traces: those named, or all where none is named.
DELETE FROM spans
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({spans:Array(String)}) OR span_id IN {spans:Array(String)})
