-- Keep no replaced parts for a while.
ALTER TABLE {table:Identifier} MODIFY SETTING old_parts_lifetime = 1
