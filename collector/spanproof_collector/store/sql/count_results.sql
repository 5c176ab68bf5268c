-- How many words of evaluators are there on these trials?
SELECT uniqExact((trial_id, evaluator))
FROM results
WHERE project = {project:String} AND trial_id IN {trials:Array(String)}
