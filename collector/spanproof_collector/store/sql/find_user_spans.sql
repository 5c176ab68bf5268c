-- Which spans name this user, on themselves, in an event or on their resource?
SELECT DISTINCT project, trace_id, span_id
FROM spans
WHERE arrayExists((key, value) -> value = {user:String} AND key IN {keys:Array(String)}, `attribute.key`, `attribute.value`)
   OR multiSearchAny(resource, {needles:Array(String)}) OR multiSearchAny(events, {needles:Array(String)})
ORDER BY project, trace_id, span_id
