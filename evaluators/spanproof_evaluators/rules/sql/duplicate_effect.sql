-- Intended changes that took place more often than once. A task that expects one several times is the Python rule's.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', doubled > 0, 'fail', open > 0 OR notEmpty(alike) OR NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(surplus)) AS score,
       arrayFilter(span -> span != '', multiIf(NOT understood, [], doubled > 0, proof, open > 0, unsure, alike)) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, max(writes) AS written,
           countIf(found = 'doubled') AS doubled, countIf(found = 'open') AS open, sum(too_many) AS surplus,
           arrayFlatten(arrayMap(one -> one.2, arraySort(groupArrayIf((began, spans), found = 'doubled')))) AS proof,
           arrayFlatten(arrayMap(one -> one.2, arraySort(groupArrayIf((began, spans), found = 'open')))) AS unsure,
           arrayMap(call -> call.5, arraySort(groupArrayArray(alike_of_change))) AS alike
    FROM
    (
        SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
               any(calls_whole) AS calls_whole, writes, change, min(first_at) AS began,
               greatest(least(toInt64(arrayUniq(groupArrayArray(seen))), toInt64(sum(verified))), toInt64(sum(recorded)), toInt64(sum(verified) > 0)) AS proven,
               greatest(proven, toInt64(sum(possible_of_key))) AS possible,
               if(min(by_word), toInt64(sum(reported)), 0) AS told,
               multiIf(NOT writes OR change = 0, '', proven > 1 OR told > 1, 'doubled', possible > 1, 'open', '') AS found,
               multiIf(found != 'doubled', 0, proven > 1, proven - 1, told - 1) AS too_many,
               arrayMap(call -> call.2, arraySort(groupArrayArray(calls))) AS spans,
               groupArrayArray(alike_of_key) AS alike_of_change
        FROM
        (
            SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
                   any(calls_whole) AS calls_whole, writes, change, key, min(at) AS first_at,
                   countIf(effect = 'verified') AS verified, countIf(effect = 'reported') AS reported,
                   countIf(effect = 'verified' AND reason = 'recorded_change') AS recorded,
                   groupUniqArrayArrayIf(observed, effect = 'verified') AS seen,
                   if(key != 0 AND verified > 0, greatest(length(seen), 1), verified + countIf(effect IN ('reported', 'unknown'))) AS possible_of_key,
                   min(receipts = 0 AND key = 0 AND adds_up) AS by_word,
                   groupArray((at, span)) AS calls,
                   groupArrayIf((toString(tool), change != 0, began, at, span),
                                writes AND effect != 'failed' AND blank_of_tool > 0 AND of_tool > 1) AS alike_of_key
            FROM
            (
                SELECT *,
                       min(at) OVER (PARTITION BY project, trial, writes, change) AS began,
                       countIf(writes AND change = 0 AND effect != 'failed') OVER (PARTITION BY project, trial, tool) AS blank_of_tool,
                       countIf(writes AND effect != 'failed') OVER (PARTITION BY project, trial, tool) AS of_tool
                FROM
                (
                    SELECT project, trial, task_id, variant, understood, calls_whole, at, tool, span, effect, reason,
                           change, key, adds_up, receipts, observed,
                           at > 0 AND class IN ('write', 'destructive') AND effect NOT IN ('none', 'refused') AS writes
                    FROM current_calls
                    WHERE unit = {unit:String}
                )
            )
            GROUP BY project, trial, writes, change, key
        )
        GROUP BY project, trial, writes, change
    )
    GROUP BY project, trial
)
WHERE NOT (understood AND calls_whole AND written = 0)
