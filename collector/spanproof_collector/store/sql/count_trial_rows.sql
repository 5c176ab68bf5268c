-- How many rows tell of these trials?
SELECT (SELECT count() FROM trials WHERE project = {project:String} AND trial IN {trials:Array(String)})
     + (SELECT count() FROM trial_traces WHERE project = {project:String} AND hasAny(trials, {trials:Array(String)}))
