"""What the training of an ensemble is given, and what it chose on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.networks import TWO_CLASSES, AnyCode, PatchShape
from pbgnet.training.steps import Augmentation, TrainingData


@dataclass(frozen=True)
class EnsembleCourse:
    """How the members of an ensemble are trained; docs/training.md has the measurements behind the defaults.

    Attributes
    ----------
    total_decay : tuple of float
        Candidates for the weight decay times the number of rows a member is trained on; the folds choose. A
        penalty of the same weight against the sum of the losses suits tables of any size.
    weight_decay : float, optional
        The decay itself, instead of a choice.
    n_members : int
        Members of a candidate, and folds: each is trained without one of them. A single one is trained
        without a fifth of the rows.
    n_steps, fewest_epochs : int
        Steps of Adam, or as many as make so many epochs.
    max_epochs : int, optional
        Number of epochs, instead of these.
    batch_size : int, optional
        Rows of a step; 32 for few rows, 256 for many, and 64 otherwise unless given.
    deviation : float
        Standard deviation of the first weights of the first layer; those of the others have 1.
    few_rows, many_rows : int
        Up to which number rows are few, and from which on they are many: then a part of the folds is enough
        to choose between candidates, one candidate to choose, and a smaller learning rate is better.
    judging_folds : int
        How many folds choose where rows are many.
    many_rows_rate : float
        What the learning rate is multiplied by where rows are many.
    """

    total_decay: tuple[float, ...] = (0.003, 0.03, 0.3)
    weight_decay: float | None = None
    n_members: int = 5
    n_steps: int = 1600
    fewest_epochs: int = 40
    max_epochs: int | None = None
    batch_size: int | None = None
    deviation: float = 1.0
    few_rows: int = 640
    many_rows: int = 4000
    judging_folds: int = 2
    many_rows_rate: float = 0.5

    @property
    def n_folds(self) -> int:
        """Number of parts that the rows are divided into."""
        return self.n_members if self.n_members > 1 else 5

    def weight_decays(self, n_rows: int) -> tuple[float, ...]:
        """Return the candidates for the weight decay."""
        if self.weight_decay is not None:
            return (self.weight_decay,)
        return tuple(total / n_rows for total in self.total_decay)

    def batch_size_of(self, n_rows: int) -> int:
        """Return the rows of a step."""
        if self.batch_size is not None:
            return self.batch_size
        return 32 if n_rows < self.few_rows else 64 if n_rows < self.many_rows else 256

    def rate_of(self, rate: float, n_rows: int) -> float:
        """Return the first learning rate."""
        return rate if n_rows < self.many_rows else rate * self.many_rows_rate

    def n_epochs(self, n_rows: int) -> int:
        """Return the number of epochs over so many rows."""
        if self.max_epochs is not None:
            return self.max_epochs
        steps_per_epoch = max(1, n_rows // self.batch_size_of(n_rows))
        return max(-(-self.n_steps // steps_per_epoch), self.fewest_epochs)


@dataclass(frozen=True, eq=False)
class Part:
    """An encoding whose rows are a part of those of a wider one: its members are members of that.

    Attributes
    ----------
    whole : str
        Name of the wider encoding.
    inputs : Tensor of int64, shape (d,)
        Which of the inputs of the wider one, n_inputs with the constant, these are.
    n_inputs : int
    scale : float
        What they were multiplied by.
    """

    whole: str
    inputs: Tensor
    n_inputs: int
    scale: float

    def widened(self, weight: Tensor) -> Tensor:
        """Return the same first layer (..., m, d) for rows of the wider encoding: others weigh nothing."""
        wide = weight.new_zeros(*weight.shape[:-1], self.n_inputs)
        wide[..., self.inputs] = weight * self.scale
        return wide


@dataclass(frozen=True)
class EnsembleRecipe:
    """Everything the training of an ensemble needs.

    Attributes
    ----------
    examples : mapping of str to TrainingData
        The same prior rows in each of several encodings, by name; the folds choose. Rows may weigh
        differently, in training and in the choice.
    hidden_layer_sizes : sequence of int
    aggregation : Aggregation
    learning_rate : float
        The first of Adam, which then falls linearly to 0; half of it where rows are many.
    weights_seed, folds_seed : int
        Of the first weights, and of folds and batches.
    course : EnsembleCourse
    code : Code or LabelCode
        What the outputs say about classes, or labels; those of the examples are signs by it.
    parts : mapping of str to Part
        Those of the encodings that are parts of others. Members of a whole and of its parts can be mixed.
    augmentation : Augmentation, optional
        How images are changed for the batches; those of the folds that judge are not.
    """

    examples: Mapping[str, TrainingData]
    hidden_layer_sizes: Sequence[int]
    aggregation: Aggregation
    learning_rate: float
    weights_seed: int
    folds_seed: int
    course: EnsembleCourse = field(default_factory=EnsembleCourse)
    code: AnyCode = TWO_CLASSES
    parts: Mapping[str, Part] = field(default_factory=dict)
    augmentation: Augmentation | None = None

    @property
    def patches(self) -> PatchShape | None:
        """How rows that are images are cut."""
        return next(iter(self.examples.values())).patches


@dataclass(frozen=True, eq=False)
class EnsembleChoice:
    """What the folds chose among the candidates, and why.

    Attributes
    ----------
    encoding : str
        What the members read.
    chosen : list of dict
        The one or two of the candidates whose members answer together.
    n_epochs : int
    validation_loss, validation_error : float
        Mean of `((1 - y G) / 2)^2`, with several classes of their log loss, each row by its weight; and error
        rate without weights, of the members on the fold they were trained
        without.
    margins : ndarray of float64, shape (n,) or (n, L)
        `y G` of the same, a mean over outputs, or one for each label; empty where there was a single row,
        which validates nothing.
    candidates : list of dict
        Encoding, weight decay and validation loss of every candidate.
    temperature : float or None
        With several outputs, what scores are multiplied by before a softmax makes probabilities of them; the
        folds choose.
    """

    encoding: str
    chosen: list[dict[str, str | float]]
    n_epochs: int
    validation_loss: float
    validation_error: float
    margins: NDArray[np.float64]
    candidates: list[dict[str, str | float]]
    temperature: float | None = None

    @property
    def sharpened(self) -> bool:
        """Whether members of those chosen were trained by their margins after the cross-entropy."""
        return any(one["loss"] == "margins" for one in self.chosen)
