-- Which deletions began a step and did not end it?
SELECT deletion_id
FROM deletions
GROUP BY deletion_id
HAVING countIf(event = 'begun') > countIf(event = 'ended')
