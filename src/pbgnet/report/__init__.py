"""The report of a certified model: one HTML page that needs neither a network nor scripts."""

from pbgnet.report.bars import ErrorCount, error_rate_bars, hamming_bars, loss_bars
from pbgnet.report.page import render_report, write_report

__all__ = ["ErrorCount", "error_rate_bars", "hamming_bars", "loss_bars", "render_report", "write_report"]
