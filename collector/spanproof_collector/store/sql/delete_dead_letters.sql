-- Take away these letters.
DELETE FROM dead_letters
WHERE letter_id IN {letters:Array(String)}
