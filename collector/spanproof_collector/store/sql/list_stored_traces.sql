-- Of which traces is anything stored, projected or not?
SELECT DISTINCT project, trace_id FROM spans
UNION DISTINCT
SELECT DISTINCT project, trace_id FROM log_records
