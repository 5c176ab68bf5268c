-- How many steps of deletions are there? The engine knows it without reading a row.
SELECT count() FROM deletions
