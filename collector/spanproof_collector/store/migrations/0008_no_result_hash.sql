-- Nothing asks for the hash of what a tool answered, and no filter could: whoever looks at results looks at the spans.
-- To tell it, each answer was opened, spelled anew and hashed.
ALTER TABLE steps DROP COLUMN IF EXISTS result_hash;
