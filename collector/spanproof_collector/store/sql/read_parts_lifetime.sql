-- For how many seconds does the engine keep parts that were replaced?
SELECT toUInt64(value)
FROM system.merge_tree_settings
WHERE name = 'old_parts_lifetime'
