"""Ways to minimise an objective: the fit loop, the paper's Adam, L-BFGS, both; a registry by name."""

from pbgnet.training.solvers.callbacks import LinearDecay
from pbgnet.training.solvers.checkpoints import checkpointing
from pbgnet.training.solvers.journal import History, Journal
from pbgnet.training.solvers.loop import fit
from pbgnet.training.solvers.paper_adam import descend
from pbgnet.training.solvers.polishing import polish
from pbgnet.training.solvers.problem import Course, Pick, Problem, Solver
from pbgnet.training.solvers.progress import Progress
from pbgnet.training.solvers.registry import SOLVERS

__all__ = [
    "SOLVERS",
    "Course",
    "History",
    "Journal",
    "LinearDecay",
    "Pick",
    "Problem",
    "Progress",
    "Solver",
    "checkpointing",
    "descend",
    "fit",
    "polish",
]
