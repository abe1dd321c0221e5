"""The report of a model: numbers, then a page that shows them."""

from tallybayes.reporting.report import Language, Report, report_of

__all__ = ["Language", "Report", "report_of"]
