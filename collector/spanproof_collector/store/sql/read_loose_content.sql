-- What are the long texts of log records without a trace? One row each; a text may be there twice until parts merge.
SELECT toString(hash), body
FROM content
WHERE project = {project:String} AND trace_id = ''
  AND hash IN (SELECT CAST(arrayJoin({hashes:Array(String)}) AS FixedString(32)))
