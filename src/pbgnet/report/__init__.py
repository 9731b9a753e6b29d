"""The report of a certified classifier: one HTML page without external resources or scripts."""

from pbgnet.report.bars import error_rate_bars, hamming_bars, loss_bars
from pbgnet.report.kept import About, Comparison, ErrorCount, Kept, TestSet, identity_of
from pbgnet.report.page import (
    REPORT,
    render_folder,
    render_kept,
    render_report,
    report_difference,
    save_certified,
    write_report,
)

__all__ = [
    "REPORT",
    "About",
    "Comparison",
    "ErrorCount",
    "Kept",
    "TestSet",
    "error_rate_bars",
    "hamming_bars",
    "identity_of",
    "loss_bars",
    "render_folder",
    "render_kept",
    "render_report",
    "report_difference",
    "save_certified",
    "write_report",
]
