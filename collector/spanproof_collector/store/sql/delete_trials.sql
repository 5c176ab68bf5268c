-- Take away what was read of these trials. They are named by hash: the statement is kept for a while.
DELETE FROM trials
WHERE project = {project:String} AND lower(hex(SHA256(trial))) IN {trials:Array(String)}
