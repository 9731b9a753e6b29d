"""The paper's algorithms: recipes, trainings that return all networks, the selection among them; PBGD."""

from pbgnet.training.algorithms.algorithm import ALGORITHMS
from pbgnet.training.algorithms.ensemble import fit_ensemble
from pbgnet.training.algorithms.ensemble_recipe import EnsembleChoice, EnsembleCourse, EnsembleRecipe, Part
from pbgnet.training.algorithms.linear import C_CANDIDATES, LinearRecipe, fit_linear
from pbgnet.training.algorithms.prior_course import PriorChoice, PriorCourse
from pbgnet.training.algorithms.recipe import BoundTerms, EpochChoice, PriorTraining, Recipe, Replicas, Start
from pbgnet.training.algorithms.trained import FitResult
from pbgnet.training.algorithms.trainings import TRAININGS

__all__ = [
    "ALGORITHMS",
    "C_CANDIDATES",
    "TRAININGS",
    "BoundTerms",
    "EnsembleChoice",
    "EnsembleCourse",
    "EnsembleRecipe",
    "EpochChoice",
    "FitResult",
    "LinearRecipe",
    "Part",
    "PriorChoice",
    "PriorCourse",
    "PriorTraining",
    "Recipe",
    "Replicas",
    "Start",
    "fit_ensemble",
    "fit_linear",
]
