"""Tables made from results: ours, the paper's beside them, and the difference."""

from pbgnet.experiments.tables.epochs import epoch_table
from pbgnet.experiments.tables.paper import paper_numbers
from pbgnet.experiments.tables.runs import error_table, protocol_table, run_summary_table
from pbgnet.experiments.tables.samples import sample_size_table
from pbgnet.experiments.tables.studies import main_results_table, selected_models_table, variance_table
from pbgnet.experiments.tables.table import StudyTable

__all__ = [
    "StudyTable",
    "epoch_table",
    "error_table",
    "main_results_table",
    "paper_numbers",
    "protocol_table",
    "run_summary_table",
    "sample_size_table",
    "selected_models_table",
    "variance_table",
]
