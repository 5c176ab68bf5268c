"""What listens: OTLP, and the ClickHouse HTTP protocol over the embedded engine."""
