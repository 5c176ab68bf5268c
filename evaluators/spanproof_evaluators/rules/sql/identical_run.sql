-- Three or more equal calls in a row that were answered alike.
SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant,
       multiIf(NOT any(understood), 'unavailable', sum(calls) = 0, 'unavailable',
               max(sure) >= 3, 'fail', max(perhaps) >= 3, 'unavailable', NOT any(calls_whole), 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(max(sure))) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2,
          arraySort(groupArrayArrayIf(run, sure >= 3)))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, countIf(at > 0) AS calls,
           countIf(which = 'sure') AS sure, countIf(which = 'perhaps') AS perhaps,
           groupArrayIf((at, span), which = 'sure') AS run
    FROM
    (
        SELECT *, arrayJoin([('sure', first_sure), ('perhaps', first_perhaps)]) AS both, both.1 AS which,
               max(both.2) OVER (PARTITION BY project, trial, which ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS began
        FROM
        (
            SELECT project, trial, task_id, variant, understood, calls_whole, at, span,
                   if(at > 1 AND signature != 0 AND signature = before.1 AND answer != 0 AND answer = before.2, 0, at) AS first_sure,
                   if(at > 1 AND if(signature = 0 OR before.1 = 0, tool = before.3,
                                    signature = before.1 AND (answer = 0 OR before.2 = 0 OR answer = before.2)), 0, at) AS first_perhaps
            FROM
            (
                SELECT project, trial, task_id, variant, understood, calls_whole, at, span, tool, signature, answer,
                       lagInFrame((signature, answer, toString(tool))) OVER
                           (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
                FROM current_calls
                WHERE unit = {unit:String}
            )
        )
    )
    GROUP BY project, trial, which, began
)
GROUP BY project, trial
HAVING NOT (any(understood) AND sum(calls) = 0 AND any(calls_whole))
