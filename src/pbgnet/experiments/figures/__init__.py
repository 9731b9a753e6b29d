"""Figures of results, and of toy networks that are trained for them; they need matplotlib."""

from pbgnet.experiments.figures.activations import activation_figure
from pbgnet.experiments.figures.main_results import main_results_figure
from pbgnet.experiments.figures.plotting import require_matplotlib, save_figure
from pbgnet.experiments.figures.representations import representation_figure
from pbgnet.experiments.figures.sample_size import Curves, sample_size_curves, sample_size_figure
from pbgnet.experiments.figures.toy import TOYS, representations, train_toy
from pbgnet.experiments.figures.training_size import (
    training_size_columns,
    training_size_curves,
    training_size_figure,
)

__all__ = [
    "TOYS",
    "Curves",
    "activation_figure",
    "main_results_figure",
    "representation_figure",
    "representations",
    "require_matplotlib",
    "sample_size_curves",
    "sample_size_figure",
    "save_figure",
    "train_toy",
    "training_size_columns",
    "training_size_curves",
    "training_size_figure",
]
