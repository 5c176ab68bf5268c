-- Which parts of these tables were replaced, and still lie on the disk?
SELECT concat(table, ' ', name)
FROM system.parts
WHERE database = currentDatabase() AND table IN {tables:Array(String)} AND NOT active
ORDER BY ALL
