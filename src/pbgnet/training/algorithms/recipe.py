"""The inputs of a training besides its examples, in parts: each training uses those it needs.

Everything is trained in the type and on the device of the examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.networks import TWO_CLASSES, AggregatedNetwork, AnyCode, PatchShape, initial_weights
from pbgnet.training.algorithms.prior_course import PriorCourse
from pbgnet.training.solvers import Course
from pbgnet.training.steps import Augmentation, Catoni, Objective, Seeger, TrainingData

# Restarts differ in the order of their batches and, to explore, in these factors of the rate.
RATE_MULTIPLES = (1.0, 2.0, 0.5, 4.0, 0.25)

# Second words of the seeds of the batches that train a prior, and of the rows that validate it.
PRIOR_BATCHES, PRIOR_VALIDATION = 1, 2


@dataclass(frozen=True)
class Start:
    """The initial network.

    Attributes
    ----------
    weights : sequence of Tensor, shapes (m, d), or (R, m, d) where replicas begin differently
        First layer first. Certificates keep them as they are; training rounds them to its type.
    aggregation : Aggregation
    """

    weights: Sequence[Tensor]
    aggregation: Aggregation

    @classmethod
    def drawn(
        cls,
        n_features: int,
        hidden_layer_sizes: Sequence[int],
        seed: int,
        aggregation: Aggregation,
        n_outputs: int = 1,
        patches: PatchShape | None = None,
    ) -> Self:
        """Draw Xavier normal weights, float64 on the CPU."""
        generator = torch.Generator().manual_seed(seed)
        weights = initial_weights(
            n_features,
            hidden_layer_sizes,
            n_outputs=n_outputs,
            generator=generator,
            dtype=torch.float64,
            patches=patches,
        )
        return cls(weights, aggregation)

    def replicated(self, count: int, like: TrainingData) -> list[Tensor]:
        """Return `count` copies of the weights in a leading axis, in the type and device of examples."""
        return [w.to(like.y).expand(count, *w.shape[-2:]).clone() for w in self.weights]

    @property
    def prior(self) -> list[Tensor]:
        """The original weights, shapes (1, m, d) or (R, m, d)."""
        return [w if w.ndim == 3 else w[None] for w in self.weights]

    def network(self, count: int, like: TrainingData) -> AggregatedNetwork:
        """Return `count` copies of the network, at their prior."""
        weights = self.replicated(count, like)
        return AggregatedNetwork(weights, aggregation=self.aggregation, patches=like.patches)


@dataclass(frozen=True)
class Replicas:
    """What distinguishes R networks trained side by side.

    Attributes
    ----------
    learning_rate, weight_decay : Tensor, float64, shapes (R,)
        The weight decay is for trainings that minimise the loss.
    batch_seeds : Tensor, int64, shape (R,)
    """

    learning_rate: Tensor
    weight_decay: Tensor
    batch_seeds: Tensor

    @classmethod
    def restarts(
        cls,
        count: int,
        learning_rate: float,
        seed: int,
        *,
        weight_decay: tuple[float, ...] = (0.0,),
        explore: bool = False,
        device: torch.device | str = "cpu",
    ) -> Self:
        """Make a number of restarts for each weight decay, with different batches and, to explore, rates.

        The seed is that of the batches: the first restarts are the same for any number of restarts.
        """
        decays = weight_decay * count
        multiples = RATE_MULTIPLES if explore else (1.0,)
        rates = [multiples[r % len(multiples)] for r in range(len(decays))]
        seeds = np.random.SeedSequence(seed).generate_state(len(decays), dtype=np.uint64)
        return cls(
            learning_rate * torch.tensor(rates, dtype=torch.float64, device=device),
            torch.tensor(decays, dtype=torch.float64, device=device),
            torch.from_numpy(seeds.view(np.int64)).to(device),
        )

    def __len__(self) -> int:
        return len(self.learning_rate)


@dataclass(frozen=True)
class BoundTerms:
    """The bound to use.

    Attributes
    ----------
    delta : float
        Failure probability: the share of one prior.
    constant : {"maurer", "paper"}
    objective : {"seeger", "catoni"}
        The form to minimise; "catoni" learns C as the paper does.
    n_positions : int
        Number of neurons that share the mean of each row of the first weights.
    """

    delta: float
    constant: str = "maurer"
    objective: str = "seeger"
    n_positions: int = 1

    def seeger(self, prior: Sequence[Tensor], n: int) -> Seeger:
        """Return the kl bound for n rows."""
        return Seeger(prior, n, self.delta, self.constant, n_positions=self.n_positions)

    def minimised(self, prior: Sequence[Tensor], n: int, replicas: Replicas) -> Objective:
        """Return the form of the bound that is minimised."""
        if self.objective == "seeger":
            return self.seeger(prior, n)
        log_c = torch.zeros_like(replicas.learning_rate)
        return Catoni(prior, n, self.delta, log_c, self.constant, n_positions=self.n_positions)


@dataclass(frozen=True)
class EpochChoice:
    """How trainings that minimise the loss choose an epoch.

    Attributes
    ----------
    fraction : float
        Share of the rows used for validation.
    seed : int or sequence of int
        Seed for drawing these rows; one for each replica if they have rows of their own.
    rules : tuple of str
        What picks an epoch by its minimum, "validation" or "bound".
    """

    fraction: float
    seed: int | Sequence[int]
    rules: tuple[str, ...] = ("validation",)


@dataclass(frozen=True)
class PriorTraining:
    """How a prior is trained, and on which rows.

    Attributes
    ----------
    examples : TrainingData
        Certified rows must not be among them.
    course : Course or PriorCourse
        The paper's short training, or a thorough one, after which only L-BFGS minimises the bound.
    learning_rate : Tensor, float64, shape (R,)
        For the prior of each replica; those with the same rate and aggregation have the same prior.
    batch_seed : int or sequence of int
        The same for all, so that the number of restarts does not change the prior; one for each replica if
        they have rows of their own.
    validation_seed : sequence of int
        Seed for drawing the validation rows, if the training is thorough.
    code : Code or LabelCode
        What the outputs mean for classes; the labels of the examples are signs of this code.
    augmentation : Augmentation, optional
        How images are changed in batches; validation rows are not changed.
    """

    examples: TrainingData
    course: Course | PriorCourse
    learning_rate: Tensor
    batch_seed: int | Sequence[int]
    validation_seed: Sequence[int] = ()
    code: AnyCode = TWO_CLASSES
    augmentation: Augmentation | None = None

    def batch_seeds(self, count: int) -> Tensor:
        """Return the seed of the batches for each of this many priors, int64, shape (count,)."""
        return torch.as_tensor(self.batch_seed, device=self.learning_rate.device).repeat(
            count if isinstance(self.batch_seed, int) else 1
        )

    @classmethod
    def of_restarts(
        cls,
        examples: TrainingData,
        course: Course | PriorCourse,
        learning_rate: float,
        seed: int,
        replicas: Replicas,
        code: AnyCode = TWO_CLASSES,
    ) -> Self:
        """Describe the common prior of some restarts."""
        words = np.random.SeedSequence([seed, PRIOR_BATCHES]).generate_state(1, dtype=np.uint64)
        rates = torch.full_like(replicas.learning_rate, learning_rate)
        return cls(examples, course, rates, int(words.view(np.int64)[0]), (seed, PRIOR_VALIDATION), code)


@dataclass(frozen=True)
class Recipe:
    """Everything a training needs besides its examples.

    Attributes
    ----------
    start : Start
    replicas : Replicas
    bound : BoundTerms
    course : Course
    solver : str
        What minimises the bound, by its name in `SOLVERS`; the loss is minimised with the paper's Adam.
    epochs : EpochChoice, optional
        For trainings that minimise the loss.
    prior : PriorTraining, optional
        For training from a prior that is trained before.
    keep_prior : bool
        Whether a thoroughly trained prior is also the posterior. A bound through thousands of drawn voters
        counts the divergence thousands of times, so no step away from the prior is worth it.
    """

    start: Start
    replicas: Replicas
    bound: BoundTerms
    course: Course
    solver: str = "adam"
    epochs: EpochChoice | None = None
    prior: PriorTraining | None = None
    keep_prior: bool = False
