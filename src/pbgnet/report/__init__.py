"""The report of a certified model: one HTML page that needs neither a network nor scripts."""

from pbgnet.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
