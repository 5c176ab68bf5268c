-- What do the letters hold whose ids begin like this?
SELECT letter_id, toUnixTimestamp64Milli(received_at) AS received_milli, signal, origin, reason, bytes
FROM dead_letters
WHERE startsWith(letter_id, {prefix:String})
ORDER BY letter_id, dead_letters.received_at
LIMIT 1 BY letter_id
LIMIT {limit:UInt32}
