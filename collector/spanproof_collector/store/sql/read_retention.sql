-- How many days is each project kept? The last word stands; no days: for good.
SELECT project, days
FROM retention
ORDER BY project, retention.set_at DESC
LIMIT 1 BY project
