-- Which migrations ran here?
SELECT DISTINCT version
FROM schema_version
ORDER BY version
