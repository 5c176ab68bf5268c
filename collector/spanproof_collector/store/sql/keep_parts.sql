-- Keep replaced parts for as long as the engine does by itself.
ALTER TABLE {table:Identifier} RESET SETTING old_parts_lifetime
