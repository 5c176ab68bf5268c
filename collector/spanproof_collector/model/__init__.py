"""The nouns of the collector: spans and log records as they came, and trials as they are read."""
