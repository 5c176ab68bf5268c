-- Errors of the systems that an agent works with: all that its tools and models answered, but for those of a tool's own domain.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', notEmpty(system), 'fail', NOT calls_whole, 'unavailable', 'pass') AS state,
       if(state = 'unavailable', NULL, toFloat64(length(system))) AS score,
       if(state = 'unavailable', [], system) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole,
           arrayFilter((span, class) -> class != 'other', `error.span`, `error.class`) AS system
    FROM current_trials
    WHERE unit = {unit:String} AND (notEmpty(`error.span`) OR NOT understood OR NOT calls_whole)
)
