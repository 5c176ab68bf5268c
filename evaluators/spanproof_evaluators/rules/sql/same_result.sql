-- Calls of which an earlier one has tool, arguments and answer. max_repeats: how many a trial may have.
SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant,
       multiIf(NOT any(understood), 'unavailable', sum(calls) = 0, 'unavailable',
               sum(repeats) > {max_repeats:UInt32}, 'fail',
               sum(open) > 0 AND sum(open) + sum(repeats) > {max_repeats:UInt32}, 'unavailable',
               sum(blank) > {max_repeats:UInt32}, 'unavailable',
               NOT any(calls_whole), 'unavailable',
               'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(sum(repeats))) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2,
          arraySort(groupArrayArray(again)))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, countIf(at > 0) AS calls,
           countIf(signature = 0 AND at > 0 AND of_tool > 1) AS blank,
           groupArrayIf((at, span), signature != 0 AND answer != 0 AND number > 1) AS again, length(again) AS repeats,
           toInt64(countIf(answer = 0)) AS unread,
           if(signature = 0 OR calls < 2, 0, if(countIf(answer != 0) > 0, unread, greatest(unread - 1, 0))) AS open
    FROM
    (
        SELECT project, trial, task_id, variant, understood, calls_whole, at, span, signature, answer,
               row_number() OVER (PARTITION BY project, trial, signature, answer ORDER BY at) AS number,
               count() OVER (PARTITION BY project, trial, tool) AS of_tool
        FROM current_calls
        WHERE unit = {unit:String}
    )
    GROUP BY project, trial, signature
)
GROUP BY project, trial
HAVING NOT (any(understood) AND sum(calls) = 0 AND any(calls_whole))
