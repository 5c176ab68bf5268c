-- What does every evaluator say of every trial? The latest word stands.
SELECT project, trial_id, evaluator, version, kind, state, score, label, reason, explanation, span_ids, details,
       toUnixTimestamp64Nano(evaluated_at) AS evaluated_at
FROM results
ORDER BY project, trial_id, evaluator, results.evaluated_at DESC
LIMIT 1 BY project, trial_id, evaluator
