"""Training: steps of many networks side by side, solvers, the paper's algorithms; a room for each."""

from pbgnet.training.algorithms import (
    ALGORITHMS,
    C_CANDIDATES,
    TRAININGS,
    BoundTerms,
    EpochChoice,
    FitResult,
    LinearRecipe,
    PriorCourse,
    PriorTraining,
    Recipe,
    Replicas,
    Start,
    fit_linear,
)
from pbgnet.training.solvers import SOLVERS, Course, Journal, Solver
from pbgnet.training.steps import TrainingData, empirical_loss, empirical_means, wait_for

__all__ = [
    "ALGORITHMS",
    "C_CANDIDATES",
    "SOLVERS",
    "TRAININGS",
    "BoundTerms",
    "Course",
    "EpochChoice",
    "FitResult",
    "Journal",
    "LinearRecipe",
    "PriorCourse",
    "PriorTraining",
    "Recipe",
    "Replicas",
    "Solver",
    "Start",
    "TrainingData",
    "empirical_loss",
    "empirical_means",
    "fit_linear",
    "wait_for",
]
