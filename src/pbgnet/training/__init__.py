"""Training: objectives, the fit loop for many networks side by side, solvers, the paper's algorithms."""

from pbgnet.training.algorithms import ALGORITHMS, Algorithm
from pbgnet.training.data import TrainingData, prepare_rows
from pbgnet.training.history import History
from pbgnet.training.lbfgs import minimise_lbfgs
from pbgnet.training.linear import LinearRecipe, fit_linear
from pbgnet.training.recipe import FitResult, PriorChoice, PriorCourse, Recipe
from pbgnet.training.solvers import SOLVERS, Course

__all__ = [
    "ALGORITHMS",
    "SOLVERS",
    "Algorithm",
    "Course",
    "FitResult",
    "History",
    "LinearRecipe",
    "PriorChoice",
    "PriorCourse",
    "Recipe",
    "TrainingData",
    "fit_linear",
    "minimise_lbfgs",
    "prepare_rows",
]
