-- How many long texts of these traces are there, of all or of those named, and of how many bytes?
SELECT uniqExact((trace_id, hash)), sum(length(body))
FROM content
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
  AND (empty({hashes:Array(String)}) OR toString(hash) IN {hashes:Array(String)})
