"""The report of a prepared body: pictures, histograms and tables in one HTML file or one PNG."""

from pliant.report.data import ReportInput
from pliant.report.write import write_report

__all__ = ["ReportInput", "write_report"]
