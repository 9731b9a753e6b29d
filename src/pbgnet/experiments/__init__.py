"""The paper's experiments: runs, studies of them, tables, figures, reports; a room for each."""

from pbgnet.experiments.runs import PaperRows
from pbgnet.experiments.studies import (
    Engine,
    LocalEngine,
    RayEngine,
    Store,
    SweepState,
    load_study,
    run_study,
)

__all__ = [
    "Engine",
    "LocalEngine",
    "PaperRows",
    "RayEngine",
    "Store",
    "SweepState",
    "load_study",
    "run_study",
]
