"""Studies that compare methods: one set of images, the same certified rows, published figures."""

from pbgnet.experiments.comparisons.comparison import load_comparison
from pbgnet.experiments.comparisons.comparison_page import comparison_tables, write_comparison_page
from pbgnet.experiments.comparisons.conduct import run_comparison
from pbgnet.experiments.comparisons.finished import read_finished

__all__ = [
    "comparison_tables",
    "load_comparison",
    "read_finished",
    "run_comparison",
    "write_comparison_page",
]
