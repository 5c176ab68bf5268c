-- Take away long texts of these traces: those named, or all where none is named.
DELETE FROM content
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({hashes:Array(String)}) OR toString(hash) IN {hashes:Array(String)})
