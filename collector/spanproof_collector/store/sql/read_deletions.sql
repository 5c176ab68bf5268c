-- Has anything been deleted, and is anything being deleted? A deletion that stopped without an end counts for a minute.
SELECT toUInt64(sum(events)) AS count, max(open) AS running
FROM
(
    SELECT count() AS events,
           countIf(event = 'begun') > countIf(event = 'ended') AND max(at) > now64(3, 'UTC') - INTERVAL 60 SECOND AS open
    FROM deletions
    GROUP BY deletion_id
)
