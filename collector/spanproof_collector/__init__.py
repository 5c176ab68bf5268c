"""The collector: OTLP and recorded files in, trials out."""
