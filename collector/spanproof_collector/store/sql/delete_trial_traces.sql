-- Take away which trials these were found in, by hash as above. Trials that shared a trace are to be read again.
DELETE FROM trial_traces
WHERE project = {project:String} AND arrayExists(trial -> lower(hex(SHA256(trial))) IN {trials:Array(String)}, trials)
