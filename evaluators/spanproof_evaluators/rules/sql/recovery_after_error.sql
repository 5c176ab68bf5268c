-- Errors after which no call was made that had seen them. What was called else is in the Python rule's details.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', calls = 0, 'unavailable',
               given_up > 0 AND calls_whole AND NOT root_missing AND status != 'incomplete', 'fail',
               given_up > 0 OR NOT calls_whole, 'unavailable',
               'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(errors)) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2, arraySort(failed))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, any(root_missing) AS root_missing, any(status) AS status,
           countIf(at > 0) AS calls, countIf(error != 0) AS errors, groupArrayIf((at, span), error != 0) AS failed,
           countIf(error != 0 AND (later = 0 OR (asked_by != '' AND later = of_same))) AS given_up
    FROM
    (
        SELECT project, trial, task_id, variant, understood, calls_whole, root_missing, status, at, span, error, asked_by,
               count() OVER (PARTITION BY project, trial ORDER BY at ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS later,
               count() OVER (PARTITION BY project, trial, asked_by ORDER BY at ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS of_same
        FROM current_calls
        WHERE unit = {unit:String}
    )
    GROUP BY project, trial
)
WHERE NOT (understood AND calls_whole AND errors = 0)
