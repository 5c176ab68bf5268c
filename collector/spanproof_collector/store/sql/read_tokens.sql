-- Which tokens were ever made, and which of them still hold?
SELECT token_id, name, scopes, hash, toUnixTimestamp64Milli(created_at) AS created_milli, removed
FROM tokens
ORDER BY token_id, version DESC
LIMIT 1 BY token_id
