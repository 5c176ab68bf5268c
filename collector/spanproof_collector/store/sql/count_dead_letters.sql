-- How many spans and log records that were rejected are kept?
SELECT uniqExact(letter_id) FROM dead_letters
