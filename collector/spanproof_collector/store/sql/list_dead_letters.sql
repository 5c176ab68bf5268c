-- What was rejected lately, and why? Without the bytes, which can be many.
SELECT letter_id, toUnixTimestamp64Milli(received_at) AS received_milli, signal, origin, reason, length(bytes)
FROM dead_letters
ORDER BY dead_letters.received_at DESC, letter_id
LIMIT 1 BY letter_id
LIMIT {limit:UInt32}
