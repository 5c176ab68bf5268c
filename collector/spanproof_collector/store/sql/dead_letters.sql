-- What was rejected lately, why, and what did it hold?
SELECT letter_id, toUnixTimestamp64Milli(received_at) AS received_milli, signal, origin, reason, bytes
FROM dead_letters
ORDER BY dead_letters.received_at DESC, letter_id
LIMIT 1 BY letter_id
LIMIT {limit:UInt32}
