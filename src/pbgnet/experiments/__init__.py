"""The paper's experiments: studies as data, runs with an identity, a store that survives a kill."""

from pbgnet.experiments.engines import LocalEngine, RayEngine
from pbgnet.experiments.rows import PaperRows
from pbgnet.experiments.selection import select, select_all
from pbgnet.experiments.specification import RunSpec, code_version
from pbgnet.experiments.store import RunRecord, Store
from pbgnet.experiments.study import Study, load_study, study_names
from pbgnet.experiments.sweep import run_study

__all__ = [
    "LocalEngine",
    "PaperRows",
    "RayEngine",
    "RunRecord",
    "RunSpec",
    "Store",
    "Study",
    "code_version",
    "load_study",
    "run_study",
    "select",
    "select_all",
    "study_names",
]
