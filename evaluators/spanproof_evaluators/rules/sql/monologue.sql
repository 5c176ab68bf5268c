-- Three or more inferences in a row without a call and without anybody's words between.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood OR NOT calls_whole, 'unavailable', longest.1 >= 3, 'fail', perhaps >= 3, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(longest.1)) AS score,
       if(state != 'fail', [], arrayMap(turn -> turn.2, arraySlice(arraySort(every), toInt64(-longest.2), longest.1))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, countIf(at > 0) AS turns,
           max((sure, toInt64(sure) - toInt64(at) - 1)) AS longest, max(maybe) AS perhaps,
           groupArrayIf((at, span), at > 0) AS every
    FROM
    (
        SELECT *,
               if(at = 0 OR asks OR loose, 0, at - max(if(asks OR begins_surely, at, 0)) OVER course + 1) AS sure,
               if(at = 0 OR asks, 0, at - max(if(asks OR begins, at, 0)) OVER course + 1) AS maybe
        FROM
        (
            SELECT *,
                   at = 1 OR before.1 = 1 OR before.2 != agent AS anew,
                   anew OR prompted != 'no' AS begins_surely,
                   anew OR prompted = 'yes' AS begins
            FROM
            (
                SELECT project, trial, task_id, variant, understood, calls_whole, at, turn.1 AS span, turn.2 AS agent,
                       turn.5 AS prompted, toUInt8(at > 0 AND has(asking, span)) AS asks, has(asking, '') AS loose,
                       lagInFrame((asks, agent)) OVER course AS before
                FROM
                (
                    SELECT project, trial, task_id, variant, understood, calls_whole, `call.asked_by` AS asking,
                           arrayFilter(one -> one.3 AND NOT one.4, arrayZip(`inference.span`, `inference.agent`,
                               `inference.own`, `inference.failed`, `inference.prompted`)) AS turns
                    FROM current_trials
                    WHERE unit = {unit:String}
                )
                LEFT ARRAY JOIN turns AS turn, arrayEnumerate(turns) AS at
                WINDOW course AS (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            )
        )
        WINDOW course AS (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    GROUP BY project, trial
)
WHERE NOT (understood AND calls_whole AND turns = 0)
