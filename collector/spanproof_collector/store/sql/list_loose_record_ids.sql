-- Which log records name no trace, but one of these sessions and trials?
SELECT DISTINCT record_id
FROM log_steps
WHERE project = {project:String} AND trace_id = ''
  AND (session_id, trial_id) IN (SELECT arrayJoin(arrayZip({sessions:Array(String)}, {trials:Array(String)})))
ORDER BY record_id
