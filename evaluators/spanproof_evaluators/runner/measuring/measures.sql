-- Measures by variant: numerator, denominator and what is unavailable, from trials as they were read and stored results.
-- unit: as for the rules. outcome_version: which verdicts count. hard: the rules that can fail a trial.
SELECT variant, counted.1 AS measure, counted.2 AS numerator, counted.3 AS denominator, counted.4 AS unavailable
FROM
(
    SELECT variant,
           countIf(left_out = '') AS kept, countIf(left_out = '' AND solved = 1) AS solved_trials,
           countIf(left_out = '' AND solved IS NOT NULL) AS judged,
           countIf(left_out = '' AND solved = 1 AND NOT vacuous) AS solved_real,
           countIf(left_out = '' AND solved IS NOT NULL AND NOT vacuous) AS judged_real,
           countIf(left_out = '' AND NOT vacuous) AS kept_real,
           countIf(left_out IN ('', 'cancelled')) AS ran, countIf(left_out IN ('', 'cancelled') AND aborted = 1) AS aborted_trials,
           countIf(left_out IN ('', 'cancelled') AND aborted IS NOT NULL) AS ended,
           countIf(declared) AS claims, countIf(declared AND outcome = 'failed') AS false_claims,
           countIf(declared AND outcome = 'unavailable') AS unproven,
           countIf(explicit) AS said, countIf(explicit AND outcome = 'failed') AS said_falsely,
           countIf(explicit AND outcome = 'unavailable') AS said_unproven,
           countIf(normal_end) AS normal, countIf(normal_end AND outcome = 'failed') AS normal_failed,
           countIf(normal_end AND outcome = 'unavailable') AS normal_open,
           countIf(left_out IN ('', 'cancelled') AND NOT vacuous) AS ran_real,
           countIf(left_out IN ('', 'cancelled') AND aborted = 1 AND NOT vacuous) AS aborted_real,
           countIf(left_out IN ('', 'cancelled') AND aborted IS NOT NULL AND NOT vacuous) AS ended_real,
           countIf(outcome = 'verified' AND NOT vacuous) AS verified_real,
           ifNull(toString(sumIf(cost_usd, NOT vacuous)), '') AS spent_real,
           countIf((cost_usd IS NULL OR NOT cost_covered) AND NOT vacuous) AS unbilled_real,
           countIf(outcome = 'failed') AS failed, countIf(outcome = 'verified') AS verified,
           count() AS trials, ifNull(toString(sum(cost_usd)), '') AS spent, countIf(cost_usd IS NULL OR NOT cost_covered) AS unbilled,
           sum(effects_verified) AS attempts_verified, sum(effects_failed) AS attempts_failed,
           sum(effects_unknown) AS attempts_unknown, sum(effects_reported) AS attempts_reported,
           attempts_verified + attempts_failed + attempts_unknown + attempts_reported AS attempts,
           countIf(NOT calls_whole) AS unseen,
           countIf(evaluated AND broken) AS violations, countIf(evaluated AND (broken OR held)) AS constrained,
           countIf(NOT evaluated OR (asked AND NOT broken AND NOT held)) AS constraints_open,
           arrayJoin([
               ('solve_rate', toString(solved_trials), toInt64(judged), toInt64(kept - judged)),
               ('solve_rate_without_vacuous', toString(solved_real), toInt64(judged_real), toInt64(kept_real - judged_real)),
               ('aborted_rate', toString(aborted_trials), toInt64(ended), toInt64(ran - ended)),
               ('aborted_rate_without_vacuous', toString(aborted_real), toInt64(ended_real), toInt64(ran_real - ended_real)),
               ('cost_per_verified_outcome_without_vacuous', spent_real, toInt64(verified_real), toInt64(unbilled_real)),
               ('false_success_rate', toString(false_claims), toInt64(claims), toInt64(unproven)),
               ('explicit_false_success_rate', toString(said_falsely), toInt64(said), toInt64(said_unproven)),
               ('normal_end_false_success_rate', toString(normal_failed), toInt64(normal), toInt64(normal_open)),
               ('silent_failure_share', toString(false_claims), toInt64(failed), toInt64(0)),
               ('outcome_coverage', toString(claims - unproven), toInt64(claims), toInt64(0)),
               ('unverified_completions', toString(unproven), toInt64(claims), toInt64(0)),
               ('cost_per_verified_outcome', spent, toInt64(verified), toInt64(unbilled)),
               ('cost_per_run', spent, toInt64(trials), toInt64(unbilled)),
               ('effect_integrity', toString(attempts_verified), toInt64(attempts_verified + attempts_failed), toInt64(attempts_unknown + attempts_reported + unseen)),
               ('effect_coverage', toString(attempts_verified + attempts_failed), toInt64(attempts), toInt64(0)),
               ('unknown_effects', toString(attempts_unknown), toInt64(attempts), toInt64(unseen)),
               ('constraint_violations', toString(violations), toInt64(constrained), toInt64(constraints_open))
           ]) AS counted
    FROM
    (
        SELECT variant, left_out, cost_usd, cost_covered, calls_whole,
               claim = 'success' AS declared,
               declared AND NOT startsWith(claim_rule, 'implicit_') AS explicit,
               left_out = '' AND status = 'complete' AND NOT (claim_source = 'declared' AND NOT declared) AS normal_end,
               told != '' AS evaluated,
               if(evaluated, verdict, 'unavailable') AS outcome,
               if(evaluated, JSONExtractString(told, 'pre_state'), 'unavailable') AS before,
               if(task_id = '', concat(project, '/', trial), toString(task_id)) AS task,
               groupUniqArrayIf(before, before != 'unavailable') OVER (PARTITION BY variant, task) AS before_of_task,
               if(before != 'unavailable', before = 'verified', before_of_task = ['verified']) AS vacuous,
               arrayFilter(one -> evaluated AND has(names, one.1), words) AS results,
               arrayMap(one -> one.2, arrayFilter(one -> has({hard:Array(String)}, one.1), results)) AS hard_states,
               -- the whole recorded world changed as was meant: what a rule left open for want of receipts is settled
               outcome = 'verified' AND JSONExtractString(told, 'verifier') = 'recorded_changes'
                   AND arrayExists(check -> JSONExtractString(check, 'name') = 'state' AND JSONExtractBool(check, 'passed'),
                                   JSONExtractArrayRaw(told, 'checks')) AS as_meant,
               arrayExists(one -> has({hard:Array(String)}, one.1) AND one.2 = 'unavailable'
                                  AND NOT (as_meant AND one.3 = 'receipt_missing'), results) AS hard_open,
               arrayMap(one -> one.2, arrayFilter(one -> one.1 IN ('forbidden_tools', 'duplicate_effect'), results)) AS constraint_states,
               notEmpty(constraint_states) AS asked,
               has(constraint_states, 'fail') AS broken,
               asked AND arrayUniq(constraint_states) = 1 AND constraint_states[1] = 'pass' AS held,
               multiIf(left_out != '', NULL,
                       status_reason = 'budget_exhausted' OR status IN ('aborted', 'error') OR has(hard_states, 'fail') OR outcome = 'failed', 0,
                       status != 'complete' OR hard_open OR outcome != 'verified', NULL,
                       1) AS solved,
               arrayFirst(one -> one.1 = 'budgets', results).2 AS budgets,
               multiIf(status_reason = 'infrastructure', 0,
                       status = 'aborted' OR status_reason = 'budget_exhausted', 1,
                       budgets = 'fail', 1, budgets = 'pass', 0, budgets = 'unavailable', NULL,
                       evaluated, 0, NULL) AS aborted,
               countEqual(`attempt.state`, 'verified') AS effects_verified, countEqual(`attempt.state`, 'failed') AS effects_failed,
               countEqual(`attempt.state`, 'unknown') AS effects_unknown, countEqual(`attempt.state`, 'reported') AS effects_reported
        FROM current_trials
        LEFT JOIN
        (
            SELECT project, trial_id AS trial, anyIf(toString(state), outcome_row) AS verdict, anyIf(details, outcome_row) AS told,
                   JSONExtractString(told, 'evidence') AS evidence, JSONExtract(told, 'results', 'Array(String)') AS names,
                   groupArrayIf((toString(evaluator), toString(state), toString(reason)), NOT outcome_row) AS words
            FROM
            (
                SELECT project, trial_id, evaluator, state, reason, version,
                       evaluator = 'outcome' AND version = {outcome_version:String} AS outcome_row,
                       if(outcome_row, details, '') AS details
                FROM results FINAL
            )
            GROUP BY project, trial_id
        ) AS said USING (project, trial, evidence)
        WHERE unit = {unit:String}
    )
    GROUP BY variant
)
ORDER BY variant, measure
