"""Trials out of the store into files, and nothing lost: OTLP JSON lines and Parquet."""

from spanproof_collector.exporters.exporting import Exported, ExportError, Format, export, format_of

__all__ = ["ExportError", "Exported", "Format", "export", "format_of"]
