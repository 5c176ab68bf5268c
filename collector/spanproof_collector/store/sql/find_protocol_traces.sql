-- Is there, between these times, a trace of nothing but a protocol's own work?
SELECT project, trace_id
FROM steps
WHERE (project, trace_id) IN
(
    SELECT project, trace_id
    FROM steps
    WHERE dialect = 'mcp' AND kind = 'other' AND start_unix_nano BETWEEN {first:UInt64} AND {last:UInt64}
)
GROUP BY project, trace_id
HAVING min(dialect = 'mcp' AND kind = 'other')
LIMIT 1
