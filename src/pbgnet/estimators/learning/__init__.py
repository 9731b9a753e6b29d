"""What a network should learn, and how: training recipes from the parameters of a classifier."""

from pbgnet.estimators.learning.courses import hidden_sizes, prior_course, training_aggregation
from pbgnet.estimators.learning.ensembles import (
    HIDDEN_LAYER_SIZES,
    auto_hidden_layer_sizes,
    ensemble_recipe,
    in_encoding,
)
from pbgnet.estimators.learning.images import ImageShape, Layout, flat_images, read_image_shape, read_layout
from pbgnet.estimators.learning.paper_recipes import PAPER_HIDDEN_LAYER_SIZES, paper_recipe
from pbgnet.estimators.learning.prior_records import random_prior, trained_prior

__all__ = [
    "HIDDEN_LAYER_SIZES",
    "PAPER_HIDDEN_LAYER_SIZES",
    "ImageShape",
    "Layout",
    "auto_hidden_layer_sizes",
    "ensemble_recipe",
    "flat_images",
    "hidden_sizes",
    "in_encoding",
    "paper_recipe",
    "prior_course",
    "random_prior",
    "read_image_shape",
    "read_layout",
    "trained_prior",
    "training_aggregation",
]
