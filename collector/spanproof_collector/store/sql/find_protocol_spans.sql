-- Is there any span of a protocol's own work? Asked by itself: where none is, the engine remembers that of a part.
SELECT 1 FROM steps WHERE dialect = 'mcp' AND kind = 'other' LIMIT 1
