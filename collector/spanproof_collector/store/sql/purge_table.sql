-- Write every part of a table anew that holds deleted rows, without them.
ALTER TABLE {table:Identifier} APPLY DELETED MASK SETTINGS mutations_sync = 2
