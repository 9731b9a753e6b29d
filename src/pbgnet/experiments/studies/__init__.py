"""Studies: sets of runs as data, engines that train them, a store that survives a kill, and results."""

from pbgnet.experiments.studies.engines import Engine, LocalEngine, RayEngine, machine_of
from pbgnet.experiments.studies.faults import stopped
from pbgnet.experiments.studies.results import (
    NAMES,
    Spread,
    StudyResults,
    confidence_text,
    read_results,
    spread_of,
)
from pbgnet.experiments.studies.selection import Selected, select, select_all
from pbgnet.experiments.studies.store import Store, place_to_add, runs_in
from pbgnet.experiments.studies.study import COMPARISON, Study, load_study, read_study, study_kind
from pbgnet.experiments.studies.sweep import SweepState, run_study

__all__ = [
    "COMPARISON",
    "NAMES",
    "Engine",
    "LocalEngine",
    "RayEngine",
    "Selected",
    "Spread",
    "Store",
    "Study",
    "StudyResults",
    "SweepState",
    "confidence_text",
    "load_study",
    "machine_of",
    "place_to_add",
    "read_results",
    "read_study",
    "run_study",
    "runs_in",
    "select",
    "select_all",
    "spread_of",
    "stopped",
    "study_kind",
]
