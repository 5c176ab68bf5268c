-- Take away what evaluators said of these trials. They are named by hash: the statement is kept for a while.
DELETE FROM results
WHERE project = {project:String} AND lower(hex(SHA256(trial_id))) IN {trials:Array(String)}
