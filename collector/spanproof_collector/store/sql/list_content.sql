-- Which long texts are there of a trace?
SELECT DISTINCT toString(hash)
FROM content
WHERE project = {project:String} AND trace_id = {trace:String}
