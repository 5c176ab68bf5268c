-- Calls beyond the first of each tool and arguments. max_repeats: how many a trial may have.
SELECT project, trial, task_id, variant, state,
       if(state = 'unavailable', NULL, toFloat64(length(again))) AS score,
       if(state = 'unavailable', [], arrayFilter(span -> span != '', again)) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant,
           arrayFilter((span, signature, number) -> signature != 0 AND number > 1,
                       `call.span`, `call.signature`, arrayEnumerateUniq(`call.signature`)) AS again,
           countEqual(`call.signature`, 0) AS blank,
           multiIf(NOT understood, 'unavailable',
                   length(again) > {max_repeats:UInt32}, 'fail',
                   blank > 1 OR (blank = 1 AND length(`call.tool`) > 1), 'unavailable',
                   NOT calls_whole, 'unavailable',
                   'pass') AS state
    FROM current_trials
    WHERE unit = {unit:String} AND (notEmpty(`call.tool`) OR NOT understood OR NOT calls_whole)
)
