-- Two calls made in turn, four in a row at least, answered as two calls before.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', calls = 0, 'unavailable',
               longest.1 >= 4, 'fail', perhaps >= 4, 'unavailable', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(longest.1)) AS score,
       if(state != 'fail', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2,
          arraySlice(arraySort(every), toInt64(-longest.2), longest.1))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, countIf(at > 0) AS calls, max(turn) AS longest, max(maybe) AS perhaps,
           groupArrayIf((at, span), at > 0) AS every
    FROM
    (
        SELECT *, if(goes_on, at - stopped + 2, 0) AS length, (length, toInt64(length) - toInt64(at) - 1) AS turn,
               if(may_go_on, at - surely_stopped + 2, 0) AS maybe
        FROM
        (
            SELECT *,
                   max(if(goes_on, 0, at)) OVER course AS stopped,
                   max(if(may_go_on, 0, at)) OVER course AS surely_stopped
            FROM
            (
                SELECT *,
                       at > 2 AND signature != 0 AND last.1 != 0 AND signature = before.1 AND signature != last.1
                           AND answer != 0 AND answer = before.2 AS goes_on,
                       at > 2 AND if(signature = 0 OR last.1 = 0 OR before.1 = 0, tool = before.3,
                                     signature = before.1 AND signature != last.1
                                         AND (answer = 0 OR before.2 = 0 OR answer = before.2)) AS may_go_on
                FROM
                (
                    SELECT project, trial, task_id, variant, understood, calls_whole, at, span, tool, signature, answer,
                           lagInFrame((signature, answer, toString(tool)), 1) OVER course AS last,
                           lagInFrame((signature, answer, toString(tool)), 2) OVER course AS before
                    FROM current_calls
                    WHERE unit = {unit:String}
                    WINDOW course AS (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
                )
            )
            WINDOW course AS (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        )
    )
    GROUP BY project, trial
)
WHERE NOT (understood AND calls = 0 AND calls_whole)
