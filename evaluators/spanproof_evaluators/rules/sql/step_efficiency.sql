-- Calls made for each call of a reference. reference_calls: how many it has; NULL for no reference.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable',
               reference = 0 AND calls_whole, 'unavailable',
               reference > 0 AND made > reference, 'fail',
               NOT calls_whole, 'unavailable',
               'pass') AS state,
       if(state = 'unavailable', NULL, made / greatest(reference, 1)) AS score,
       if(state = 'unavailable', [], arrayDistinct(arrayFilter(span -> span != '', arraySlice(`call.span`, reference + 1)))) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole, `call.span`, length(`call.tool`) AS made,
           assumeNotNull({reference_calls:Nullable(UInt32)}) AS reference
    FROM current_trials
    WHERE unit = {unit:String} AND {reference_calls:Nullable(UInt32)} IS NOT NULL
)
