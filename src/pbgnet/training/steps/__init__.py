"""One step of many networks side by side: rows, objectives, gradients, Adam, CUDA graphs, memory."""

from pbgnet.training.steps.augmentation import AUGMENTATIONS, Augmentation, AugmentedImages, Change
from pbgnet.training.steps.capture import record_graph
from pbgnet.training.steps.criteria import (
    FIRST_TEMPERATURE,
    LINEAR,
    Criterion,
    MarginCriterion,
    SoftmaxCriterion,
    log_criterion,
)
from pbgnet.training.steps.data import Batches, TrainingData
from pbgnet.training.steps.evaluation import (
    Trainable,
    capturable,
    criterion_mean,
    empirical_loss,
    empirical_means,
    loss_and_gradients,
    objective_value,
)
from pbgnet.training.steps.memory import Portion, is_out_of_memory
from pbgnet.training.steps.objectives import Catoni, FixedTradeOff, LinearLoss, Objective, Seeger
from pbgnet.training.steps.shuffling import FoldPools, RowBlocks
from pbgnet.training.steps.stepper import Stepper
from pbgnet.training.steps.threads import threads_for_steps
from pbgnet.training.steps.waiting import wait_for

__all__ = [
    "AUGMENTATIONS",
    "FIRST_TEMPERATURE",
    "LINEAR",
    "Augmentation",
    "AugmentedImages",
    "Batches",
    "Catoni",
    "Change",
    "Criterion",
    "FixedTradeOff",
    "FoldPools",
    "LinearLoss",
    "MarginCriterion",
    "Objective",
    "Portion",
    "RowBlocks",
    "Seeger",
    "SoftmaxCriterion",
    "Stepper",
    "Trainable",
    "TrainingData",
    "capturable",
    "criterion_mean",
    "empirical_loss",
    "empirical_means",
    "is_out_of_memory",
    "log_criterion",
    "loss_and_gradients",
    "objective_value",
    "record_graph",
    "threads_for_steps",
    "wait_for",
]
