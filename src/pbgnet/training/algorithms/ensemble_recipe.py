"""The inputs of an ensemble's training, and what it chose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.networks import TWO_CLASSES, AnyCode, PatchShape
from pbgnet.training.steps import Augmentation, TrainingData

LARGE_BATCHES, BATCHES_PER_EPOCH = (1024, 8192), 256
"""Smallest and largest batch of very many rows, in powers of 2; in between, an epoch has this many steps."""

GROWING, FIRST_SHARE = 0.1, 0.01
"""The share of steps in which the rate of very many rows grows, and the share of the rate it starts at."""


@dataclass(frozen=True)
class EnsembleCourse:
    """How the members of an ensemble are trained; docs/reference/training.md has the measurements.

    Attributes
    ----------
    total_decay : tuple of float
        Candidates for the weight decay times the number of rows a member is trained on; the folds choose. A
        penalty with the same weight relative to the sum of the losses suits tables of any size.
    weight_decay : float, optional
        The decay itself, instead of a choice.
    n_members : int
        Members of a candidate, and folds: each member is trained without one fold. A single member is trained
        without a fifth of the rows.
    n_steps, fewest_epochs : int
        Steps of Adam, or as many as make this many epochs.
    max_epochs : int, optional
        Number of epochs, instead of these.
    batch_size : int, optional
        Rows of a step; by default 32 for few rows, 256 for many, and 64 otherwise.
    deviation : float
        Standard deviation of the initial weights of the first layer; that of the others is 1.
    few_rows, many_rows : int
        Up to which number rows are few, and from which on they are many. With many rows, some of the folds
        are enough to choose between candidates, one candidate is chosen, and a smaller learning rate is
        better.
    judging_folds : int
        Number of folds that choose if there are many rows.
    many_rows_rate : float
        Factor of the learning rate if there are many rows.
    very_many_rows : int, optional
        From this number on, rows are so many that a sample of them is enough to choose, and that they are
        seen only a few times. Then the full learning rate is used; it grows in the first tenth of the steps
        and falls with every step, and batches are large. None for never.
    sample_rows : int
        Rows of that sample.
    speeds : tuple of float
        Candidates for the factor of the learning rate if there are very many rows.
    row_visits, epoch_range : int, pair of int
        How many rows a member then sees in all, and the smallest and largest number of epochs for that.
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
    very_many_rows: int | None = 100_000
    sample_rows: int = 1 << 16
    speeds: tuple[float, ...] = (1.0, 3.0)
    row_visits: int = 2_400_000
    epoch_range: tuple[int, int] = (8, 24)

    @property
    def n_folds(self) -> int:
        """Number of parts of the rows."""
        return self.n_members if self.n_members > 1 else 5

    def settings(self, n_rows: int) -> list["Setting"]:
        """Return the candidates for this many rows; with very many rows, no small decay is among them."""
        decays: tuple[float | None, ...] = self.total_decay if self.weight_decay is None else (None,)
        if not self.has_very_many(n_rows):
            return [Setting(total) for total in decays]
        return [Setting(total, speed) for speed in self.speeds for total in decays[-2:]]

    def decay_of(self, setting: "Setting", n_pool: int) -> float:
        """Return the weight decay of a candidate on this many rows."""
        if setting.total_decay is None:
            assert self.weight_decay is not None
            return self.weight_decay
        return setting.total_decay / n_pool

    def has_very_many(self, n_rows: int) -> bool:
        """Whether this many rows, folds included, count as very many."""
        return self.very_many_rows is not None and n_rows >= self.very_many_rows

    def for_sample(self) -> "EnsembleCourse":
        """Return the course for a sample of very many rows, which is the same as for all of them."""
        return replace(self, very_many_rows=0)

    def schedule(self, rate: float, n_rows: int, n_pool: int) -> "Schedule":
        """Return rate, batches and epochs for this many rows, of which each member sees the pool."""
        if self.has_very_many(n_rows):
            return self._long_schedule(rate, n_pool)
        batch_size = 32 if n_pool < self.few_rows else 64 if n_pool < self.many_rows else 256
        batch_size = batch_size if self.batch_size is None else self.batch_size
        steps_per_epoch = max(1, n_pool // batch_size)
        n_epochs = max(-(-self.n_steps // steps_per_epoch), self.fewest_epochs)
        return Schedule(
            rate if n_pool < self.many_rows else rate * self.many_rows_rate,
            batch_size,
            n_epochs if self.max_epochs is None else self.max_epochs,
        )

    def _long_schedule(self, rate: float, n_pool: int) -> "Schedule":
        batch_size = LARGE_BATCHES[0]
        while 2 * batch_size <= min(n_pool // BATCHES_PER_EPOCH, LARGE_BATCHES[1]):
            batch_size *= 2
        low, high = self.epoch_range
        n_epochs = min(max(low, -(-self.row_visits // n_pool)), high)
        return Schedule(
            rate,
            batch_size if self.batch_size is None else self.batch_size,
            n_epochs if self.max_epochs is None else self.max_epochs,
            falls_by_step=True,
        )


@dataclass(frozen=True)
class Setting:
    """What candidates differ in besides their encoding.

    Attributes
    ----------
    total_decay : float or None
        The weight decay times the number of rows a member is trained on; None if a decay is given.
    speed : float
        Factor of the learning rate.
    """

    total_decay: float | None
    speed: float = 1.0


@dataclass(frozen=True)
class Schedule:
    """How fast, in which batches and how long members are trained.

    Attributes
    ----------
    rate : float
        The initial rate, or the highest.
    batch_size, n_epochs : int
    falls_by_step : bool
        Whether the rate falls to 0 with every step, after growing for a tenth of them; otherwise it falls
        with every epoch.
    """

    rate: float
    batch_size: int
    n_epochs: int
    falls_by_step: bool = False

    def pace(self, epoch: float) -> float:
        """Return the share of the rate after this many epochs, if it falls by step."""
        done = epoch / self.n_epochs
        return min(done / GROWING + FIRST_SHARE, 1.0) * (1.0 - done)


@dataclass(frozen=True, eq=False)
class Part:
    """An encoding whose rows are part of those of a wider one: its members can read the wider rows.

    Attributes
    ----------
    whole : str
        Name of the wider encoding.
    inputs : Tensor of int64, shape (d,)
        Which inputs of the wider encoding, n_inputs with the constant, these are.
    n_inputs : int
    scale : float, or Tensor of shape (d,)
        The factor they were multiplied by.
    """

    whole: str
    inputs: Tensor
    n_inputs: int
    scale: float | Tensor

    def widened(self, weight: Tensor) -> Tensor:
        """Return the same first layer (..., m, d) for rows of the wider encoding, with weight 0 elsewhere."""
        wide = weight.new_zeros(*weight.shape[:-1], self.n_inputs)
        wide[..., self.inputs] = weight * self.scale
        return wide


@dataclass(frozen=True)
class EnsembleRecipe:
    """Everything the training of an ensemble needs.

    Attributes
    ----------
    examples : mapping of str to TrainingData
        The same prior rows in several encodings, by name; the folds choose. Rows may have different weights,
        in training and in the choice.
    hidden_layer_sizes : sequence of int
    aggregation : Aggregation
    learning_rate : float
        The initial rate of Adam, which then falls linearly to 0; half of it if there are many rows.
    weights_seed, folds_seed : int
        Seeds of the initial weights, and of folds and batches.
    course : EnsembleCourse
    code : Code or LabelCode
        What the outputs mean for classes or labels; the labels of the examples are signs of this code.
    parts : mapping of str to Part
        The encodings that are parts of others. Members of a whole and of its parts can be mixed.
    augmentation : Augmentation, optional
        How images are changed in batches; those of the folds that judge are not changed.
    everything : callable, optional
        Given if rows are very many and the examples are a sample of them. It maps the name of an encoding to
        all rows in it, and to the part that it is, if any. The members are trained on these.
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
    everything: Callable[[str], tuple[TrainingData, Part | None]] | None = None

    def of_everything(self, encoding: str) -> "EnsembleRecipe":
        """Return how the members are trained on all rows, in the encoding chosen on a sample."""
        assert self.everything is not None
        examples, part = self.everything(encoding)
        parts = {} if part is None else {encoding: part}
        return replace(self, examples={encoding: examples}, parts=parts, everything=None)

    @property
    def patches(self) -> PatchShape | None:
        """How images are cut."""
        return next(iter(self.examples.values())).patches


@dataclass(frozen=True, eq=False)
class EnsembleChoice:
    """What the folds chose among the candidates, and why.

    Attributes
    ----------
    encoding : str
        The encoding of the members' rows.
    chosen : list of dict
        The one or two candidates whose members answer together.
    n_epochs : int
    validation_loss, validation_error : float
        Mean of `((1 - y G) / 2)^2`, or with several classes their log loss, weighted by row; and error rate
        without weights, of the members on the fold they were trained without.
    margins : ndarray of float64, shape (n,) or (n, L)
        `y G` for the same rows, a mean over outputs, or one for each label; empty if there was a single row,
        which cannot validate anything.
    candidates : list of dict
        Encoding, weight decay and validation loss of every candidate.
    temperature : float or None
        With several outputs, the factor of the scores before a softmax turns them into probabilities; the
        folds choose it.
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
        """Whether chosen members were trained on their margins after the cross-entropy."""
        return any(one["loss"] == "margins" for one in self.chosen)
