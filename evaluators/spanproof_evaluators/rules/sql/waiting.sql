-- Traces that are in the store and in no trial that rules in SQL see: never evaluated, not settled then, or grown since.
SELECT count()
FROM stored_traces
WHERE trace_id != '\0\0' AND (project, trace_id) NOT IN
(
    SELECT project, trace_id
    FROM (SELECT project, trace_id, arrayJoin(trials) AS trial FROM trial_traces FINAL WHERE unit = {unit:String})
    GROUP BY project, trace_id
    HAVING min((project, trial) IN (SELECT project, trial FROM current_trials WHERE unit = {unit:String}))
)
