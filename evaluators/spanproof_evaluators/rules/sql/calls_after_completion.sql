-- Calls after a structured declaration that the task is done, until somebody speaks again.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood OR NOT declared, 'unavailable', not_recorded AND notEmpty(after), 'unavailable',
               notEmpty(late), 'fail', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(length(late))) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2, late)))) AS span_ids
FROM
(
    SELECT *, arrayFilter(call -> NOT has(again, call.3), after) AS late
    FROM
    (
        SELECT *, unknown > 0 AND (spoken = 0 OR unknown < spoken) AS not_recorded,
               if(spoken = 0 OR not_recorded, [], arrayMap(one -> one.1, arraySlice(later, spoken))) AS again,
               arrayConcat(arrayFilter(call -> call.5, calls), arrayFilter(call -> call.4 > event AND NOT call.5, calls)) AS after
        FROM
        (
            SELECT *, arrayFirstIndex(one -> one.2 = 'yes', later) AS spoken,
                   arrayFirstIndex(one -> one.2 = 'unknown', later) AS unknown
            FROM
            (
                SELECT project, trial, task_id, variant, understood, calls_whole, declared, event,
                       arrayFilter(one -> one.3 > since AND (done = '' OR one.1 != done), inferences) AS later,
                       arrayMap((call, at) -> (at, call.1, call.2, call.3, first > 0 AND at > first AND (call.2 = '' OR call.2 != done)),
                                calls_made, arrayEnumerate(calls_made)) AS calls
                FROM
                (
                    SELECT *,
                           least(if(done_at = 0, 18446744073709551615, done_at), event) AS earliest,
                           if(earliest = 18446744073709551615, 0, earliest) AS since
                    FROM
                    (
                        SELECT *, if(done = '', 0, arrayFirst(one -> one.1 = done, inferences).3) AS done_at
                        FROM
                        (
                            SELECT project, trial, task_id, variant, understood, calls_whole,
                                   arrayFirstIndex(call -> call, `call.declares`) AS first,
                                   first > 0 OR declared_at IS NOT NULL AS declared,
                                   ifNull(declared_at, 18446744073709551615) AS event,
                                   if(first > 0, `call.asked_by`[first], '') AS done,
                                   arrayZip(`inference.span`, `inference.prompted`, `inference.started_at`) AS inferences,
                                   arrayZip(`call.span`, `call.asked_by`, `call.started_at`) AS calls_made
                            FROM current_trials
                            WHERE unit = {unit:String} AND (declared OR NOT understood OR NOT calls_whole)
                        )
                    )
                )
            )
        )
    )
)
