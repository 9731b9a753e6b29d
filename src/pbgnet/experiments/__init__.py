"""The paper's experiments and comparisons beyond them: runs, studies, tables and reports."""

from pbgnet.experiments.runs import PaperRows
from pbgnet.experiments.studies import (
    COMPARISON,
    Engine,
    LocalEngine,
    RayEngine,
    Store,
    Study,
    SweepState,
    load_study,
    place_to_add,
    run_study,
    runs_in,
    study_kind,
)

__all__ = [
    "COMPARISON",
    "Engine",
    "LocalEngine",
    "PaperRows",
    "RayEngine",
    "Store",
    "Study",
    "SweepState",
    "load_study",
    "place_to_add",
    "run_study",
    "runs_in",
    "study_kind",
]
