-- More calls than a good trajectory needs. expected_calls: how many it needs; NULL where nobody says.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', made > expected, 'fail', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(made)) AS score,
       if(state = 'fail', arrayFilter(span -> span != '', arraySlice(`call.span`, expected + 1)), []) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole, `call.span`, length(`call.tool`) AS made,
           assumeNotNull({expected_calls:Nullable(UInt32)}) AS expected
    FROM current_trials
    WHERE unit = {unit:String} AND {expected_calls:Nullable(UInt32)} IS NOT NULL
)
