-- Which long texts do these traces refer to? A text may be there twice until parts merge; both are the same.
SELECT trace_id, toString(hash), body
FROM content
WHERE project = {project:String} AND trace_id IN {traces:Array(String)}
SETTINGS max_threads = 1
