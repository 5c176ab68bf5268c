-- Attempts of which nobody knows whether they changed something.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', unknown > 0, 'fail', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(unknown)) AS score,
       if(state = 'unavailable', [],
          arrayFilter((span, attempt) -> span != '' AND (unknown = 0 OR attempt = 'unknown'), `attempt.span`, `attempt.state`)) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole, `attempt.span`, `attempt.state`,
           countEqual(`attempt.state`, 'unknown') AS unknown
    FROM current_trials
    WHERE unit = {unit:String} AND (notEmpty(`attempt.state`) OR NOT understood OR NOT calls_whole)
)
