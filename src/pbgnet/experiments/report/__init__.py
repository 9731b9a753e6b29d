"""Reports on studies: what agrees with the paper, and one page with all tables and figures."""

from pbgnet.experiments.report.study_report import write_study_report

__all__ = [
    "write_study_report",
]
