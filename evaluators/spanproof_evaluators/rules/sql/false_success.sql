-- Claims of success that the stored outcome contradicts: what 'spanproof evaluate' found on this very evidence.
SELECT project, trial, task_id, variant,
       multiIf(claim = 'unavailable', 'unavailable', outcome = 'failed', 'fail', outcome = 'verified', 'pass', 'unavailable') AS state,
       CAST(NULL, 'Nullable(Float64)') AS score,
       if(claim_span = '' OR claim = 'unavailable', [], [claim_span]) AS span_ids
FROM current_trials
LEFT JOIN
(
    SELECT project, trial_id AS trial, state AS outcome, JSONExtractString(details, 'evidence') AS evidence
    FROM results FINAL
    WHERE evaluator = 'outcome' AND kind = 'verifier'
) AS judged USING (project, trial, evidence)
WHERE unit = {unit:String} AND claim IN ('success', 'unavailable')
