-- The share of calls that were surely redundant: the lower bound, which alone decides. The upper bound needs the texts.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', calls = 0, 'unavailable', NOT calls_whole OR blank > 0, 'unavailable',
               sure > 0, 'fail', perhaps > 0, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, sure / calls) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arrayMap(call -> call.2, arraySort(again))))) AS span_ids
FROM
(
    SELECT project, trial, any(task_id) AS task_id, any(variant) AS variant, any(understood) AS understood,
           any(calls_whole) AS calls_whole, countIf(at > 0) AS calls,
           countIf(certain) AS sure, countIf(possible) AS perhaps, groupArrayIf((at, span), certain) AS again,
           countIf(at > 0 AND signature = 0) AS blank
    FROM
    (
        SELECT *,
               equal AND lagInFrame(writes) OVER same = writes - (changed = 'yes' OR changed = 'unknown')
                   AND answer != 0 AND last_answer = answer AS certain,
               equal AND lagInFrame(sure_writes) OVER same = sure_writes - (changed = 'yes')
                   AND (answer = 0 OR last_answer = 0 OR last_answer = answer) AS possible
        FROM
        (
            SELECT project, trial, task_id, variant, understood, calls_whole, at, span, signature, changed, answer,
                   signature != 0 AND row_number() OVER same > 1 AS equal,
                   lagInFrame(answer) OVER same AS last_answer,
                   countIf(changed IN ('yes', 'unknown')) OVER course AS writes,
                   countIf(changed = 'yes') OVER course AS sure_writes
            FROM current_calls
            WHERE unit = {unit:String}
            WINDOW same AS (PARTITION BY project, trial, signature ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
                   course AS (PARTITION BY project, trial ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        )
        WINDOW same AS (PARTITION BY project, trial, signature ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    GROUP BY project, trial
)
WHERE NOT (understood AND calls = 0 AND calls_whole)
