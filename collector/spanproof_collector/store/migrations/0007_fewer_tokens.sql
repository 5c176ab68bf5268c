-- Every token that a table remembers of its last inserts costs 400 bytes of memory, and a busy server makes six inserts
-- a second into each: with 10,000 it grew for half an hour. What is tried again is among the last few.

ALTER TABLE spans MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE log_records MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE content MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE steps MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE log_steps MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE results MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE dead_letters MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE deletions MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE retention MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE tokens MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE trials MODIFY SETTING non_replicated_deduplication_window = 1000;
ALTER TABLE trial_traces MODIFY SETTING non_replicated_deduplication_window = 1000;
