-- Against a reference: the reference's calls in their order, others between them or not.
-- reference: its calls, each as the text that 'spanproof rules call' prints.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood OR NOT calls_whole OR has(made, 0) OR found IS NULL, 'unavailable', found = 1, 'pass', 'fail') AS state,
       if(state = 'unavailable', NULL, found) AS score,
       if(state = 'unavailable', [], arrayFilter(span -> span != '', spans)) AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood, calls_whole, `call.span` AS spans, `call.identity` AS made,
           arrayMap(text -> greatest(reinterpretAsUInt64(substring(SHA256(text), 1, 8)), 1), {reference:Array(String)}) AS wanted,
           arrayCount((call, number) -> number <= countEqual(wanted, call), made, arrayEnumerateUniq(made)) AS shared,
           toFloat64(concat(',', arrayStringConcat(arrayMap(call -> hex(call), made), ',,'), ',') LIKE concat('%', arrayStringConcat(arrayMap(call -> concat(',', hex(call), ','), wanted), '%'), '%')) AS found
    FROM current_trials
    WHERE unit = {unit:String}
)
