"""Reports as files, one format each. What is unavailable is so in every one of them: never a pass, never 0."""

from collections.abc import Callable, Mapping
from typing import Final

from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.reports.files.junit import report_junit
from spanproof_evaluators.reports.files.markdown import report_markdown
from spanproof_evaluators.reports.files.sarif import report_sarif
from spanproof_evaluators.reports.files.tables import report_csv, report_parquet
from spanproof_evaluators.reports.html import report_html

FORMATS: Final[Mapping[str, Callable[[Report], bytes]]] = {
    "html": lambda report: report_html(report).encode("utf-8", "replace"),
    "markdown": lambda report: report_markdown(report).encode("utf-8", "replace"),
    "junit": report_junit,
    "sarif": lambda report: report_sarif(report).encode("utf-8", "replace"),
    "csv": lambda report: report_csv(report).encode("utf-8", "replace"),
    "parquet": report_parquet,
}
"""Each format by its name; a report in, the file's bytes out."""

__all__ = ["FORMATS", "report_csv", "report_junit", "report_markdown", "report_parquet", "report_sarif"]
