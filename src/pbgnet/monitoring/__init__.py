"""Check whether a certificate still holds: by the errors on new rows, and by changes in the rows."""

from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.monitor import Monitor
from pbgnet.monitoring.page import render_monitor, write_monitor_page, write_monitor_picture
from pbgnet.monitoring.words import change_sentences, e_value_text, error_sentences

__all__ = [
    "ChangeDetector",
    "Monitor",
    "change_sentences",
    "e_value_text",
    "error_sentences",
    "render_monitor",
    "write_monitor_page",
    "write_monitor_picture",
]
