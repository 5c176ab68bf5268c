-- Tools that answered three times or more with one error, and with nothing but errors between.
SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant,
       multiIf(NOT any(understood), 'unavailable', sum(calls) = 0, 'unavailable',
               max(most) >= 3, 'fail', max(perhaps) >= 3, 'unavailable', NOT any(calls_whole), 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(max(most))) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayFlatten(arrayMap(one -> one.2,
          arraySort(groupArrayArray(long))))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, sum(calls) AS calls, maxIf(errors, error != 0) AS most,
           most + sum(unread) AS perhaps,
           groupArrayIf((third, spans), error != 0 AND errors >= 3) AS long
    FROM
    (
        SELECT project, trial, tool, answers, error, any(task_id) AS task_id, any(variant) AS variant,
               any(understood) AS understood, any(calls_whole) AS calls_whole, countIf(at > 0) AS calls,
               countIf(at > 0 AND error != 0) AS errors,
               countIf(at > 0 AND error = 0 AND NOT answered AND effect != 'refused' AND executed != 'no') AS unread,
               arraySort(groupArrayIf((at, span), error != 0)) AS every, every[3].1 AS third,
               arrayMap(call -> call.2, every) AS spans
        FROM
        (
            SELECT project, trial, task_id, variant, understood, calls_whole, at, span, tool, error, answered, effect, executed,
                   countIf(error = 0 AND answered) OVER
                       (PARTITION BY project, trial, tool ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS answers
            FROM current_calls
            WHERE unit = {unit:String}
        )
        GROUP BY project, trial, tool, answers, error
    )
    GROUP BY project, trial, tool, answers
)
GROUP BY project, trial
HAVING NOT (any(understood) AND sum(calls) = 0 AND any(calls_whole))
