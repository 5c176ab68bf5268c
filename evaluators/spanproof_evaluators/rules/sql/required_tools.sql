-- Tools that have to be used, by a call that ran and was not refused. required_tools: their names.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable', missing = 0, 'pass',
               status = 'incomplete' OR root_missing OR NOT calls_whole, 'unavailable', 'fail') AS state,
       CAST(NULL, 'Nullable(Float64)') AS score,
       if(understood, arrayMap(call -> call.2, arrayFilter(call -> call.2 != '', used)), []) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, root_missing, calls_whole, status,
           arrayFilter((call, executed, effect) -> has({required_tools:Array(String)}, call.1) AND executed != 'no' AND effect != 'refused',
                       arrayZip(`call.tool`, `call.span`), `call.executed`, `call.state`) AS used,
           arrayUniq({required_tools:Array(String)}) - arrayUniq(arrayMap(call -> call.1, used)) AS missing
    FROM current_trials
    WHERE unit = {unit:String} AND notEmpty({required_tools:Array(String)})
)
