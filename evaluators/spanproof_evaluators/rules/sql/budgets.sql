-- What a trial spent against its limits. max_steps, max_tool_calls, max_tokens, max_cost_usd: NULL for no limit.
SELECT project, trial, task_id, variant,
       multiIf(NOT understood, 'unavailable',
               steps_over OR calls_over OR tokens_over OR cost_over, 'fail',
               steps_open OR calls_open OR tokens_open OR cost_open, 'unavailable',
               'pass') AS state,
       CAST(NULL, 'Nullable(Float64)') AS score,
       CAST([], 'Array(String)') AS span_ids
FROM
(
    SELECT project, trial, task_id, variant, understood,
           {max_steps:Nullable(UInt64)} AS max_steps, {max_tool_calls:Nullable(UInt64)} AS max_calls,
           {max_tokens:Nullable(UInt64)} AS max_tokens, {max_cost_usd:Nullable(Decimal(38, 18))} AS max_cost,
           if(input_tokens IS NULL AND output_tokens IS NULL, NULL, ifNull(input_tokens, 0) + ifNull(output_tokens, 0)) AS tokens,
           ifNull(steps > max_steps, 0) AS steps_over,
           max_steps IS NOT NULL AND root_missing AS steps_open,
           ifNull(length(`call.tool`) > max_calls, 0) AS calls_over,
           max_calls IS NOT NULL AND (root_missing OR NOT calls_whole) AS calls_open,
           ifNull(tokens > max_tokens, 0) AS tokens_over,
           max_tokens IS NOT NULL AND (root_missing OR unmetered_calls > 0 OR input_tokens IS NULL OR output_tokens IS NULL) AS tokens_open,
           ifNull(cost_usd > max_cost, 0) AS cost_over,
           max_cost IS NOT NULL AND (root_missing OR cost_usd IS NULL OR NOT cost_covered) AS cost_open
    FROM current_trials
    WHERE unit = {unit:String}
      AND (max_steps IS NOT NULL OR max_calls IS NOT NULL OR max_tokens IS NOT NULL OR max_cost IS NOT NULL)
)
