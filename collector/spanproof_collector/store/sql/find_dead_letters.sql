-- Which letters hold one of these texts? Bytes are compared in hex.
SELECT DISTINCT letter_id, bytes
FROM dead_letters
WHERE multiSearchAny(hex(bytes), {needles:Array(String)})
ORDER BY letter_id
