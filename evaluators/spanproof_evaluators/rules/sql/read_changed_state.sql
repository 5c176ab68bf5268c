-- Calls that were taken for reads and were seen to change something.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', changed > 0, 'fail', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(changed)) AS score,
       if(state = 'unavailable', [], arrayFilter(span -> span != '', if(changed > 0, spans, watched))) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole,
           arrayFilter((span, taken_for) -> taken_for = 'read', `call.span`, `call.taken_for`) AS spans,
           arrayFilter((span, class, seen) -> class = 'read' AND seen, `call.span`, `call.class`, `call.watched`) AS watched,
           length(spans) AS changed
    FROM current_trials
    WHERE unit = {unit:String} AND (changed > 0 OR notEmpty(watched) OR NOT understood OR NOT calls_whole)
)
