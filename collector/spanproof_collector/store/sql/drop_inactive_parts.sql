-- Remove replaced parts from the disk at once: dropping a partition that is not there does.
ALTER TABLE {table:Identifier} DROP PARTITION ID 'none'
