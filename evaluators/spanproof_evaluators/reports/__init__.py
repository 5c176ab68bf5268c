"""Reports: what was found, for the terminal, for machines and for a browser."""
