"""Runs: their descriptions, the rows they see, their training side by side, and their evaluation."""

from pbgnet.experiments.runs.batch import Rows, batches_of, train_batch
from pbgnet.experiments.runs.fingerprint import CODE_THAT_COUNTS, code_version
from pbgnet.experiments.runs.rows import PaperRows
from pbgnet.experiments.runs.specification import RunSpec

__all__ = [
    "CODE_THAT_COUNTS",
    "PaperRows",
    "Rows",
    "RunSpec",
    "batches_of",
    "code_version",
    "train_batch",
]
