-- Which log records name this user, on themselves or on their resource?
SELECT DISTINCT project, trace_id, record_id
FROM log_records
WHERE arrayExists((key, value) -> value = {user:String} AND key IN {keys:Array(String)}, `attribute.key`, `attribute.value`)
   OR multiSearchAny(resource, {needles:Array(String)})
ORDER BY project, trace_id, record_id
