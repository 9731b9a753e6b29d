"""What a learning algorithm is given besides the examples, and what it returns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.networks import AggregatedNetwork, TanhNetwork, initial_weights
from pbgnet.training.journal import Journal
from pbgnet.training.progress import Progress
from pbgnet.training.solvers import Course

__all__ = ["FitResult", "PriorChoice", "PriorCourse", "Recipe"]

# Restarts differ in the order of their batches and, to explore, in these multiples of the rate.
RATE_MULTIPLES = (1.0, 2.0, 0.5, 4.0, 0.25)


@dataclass(frozen=True)
class PriorCourse:
    """How to train a prior until it is good, with choices made among the prior rows alone.

    One network per pair of a deviation and a weight decay is trained without a validation part of the
    prior rows; the one with the smallest linear loss there, its weights multiplied by the best factors,
    is trained again on all of them. The measurements behind the defaults are in docs/training.md.

    Attributes
    ----------
    deviations : tuple of float
        Standard deviations of the pre-activations of all layers at the start. Small ones make a network
        that is nearly linear, large ones one whose neurons are decided.
    weight_decay : tuple of float
        Candidates. Decay keeps the weights small, so that their noise regularises; the factors take the
        noise out afterwards.
    batch_size : int
    n_steps : int
        Steps of Adam, as far as the limits of the epochs allow.
    fewest_epochs, most_epochs : int
    last_rate : float
        What the learning rate has fallen to at the end, linearly, as a share of the first one.
    validation_fraction : float
        Share of the prior rows that chooses.
    first_factors, later_factors : tuple of float
        Candidates for what the weights of the first layer, and of the others, are multiplied by in the
        end. Large ones saturate the margins, so that the linear loss comes near the error rate.

    Examples
    --------
    >>> from pbgnet.training import PriorCourse
    >>> course = PriorCourse()
    >>> course.n_epochs(500), course.n_epochs(5_000), course.n_epochs(50_000)
    (200, 51, 30)
    """

    deviations: tuple[float, ...] = (1.0, 3.0)
    weight_decay: tuple[float, ...] = (3e-7, 1e-6, 3e-6)
    batch_size: int = 64
    n_steps: int = 4000
    fewest_epochs: int = 30
    most_epochs: int = 200
    last_rate: float = 0.02
    validation_fraction: float = 0.2
    first_factors: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
    later_factors: tuple[float, ...] = (1.0, 4.0, 16.0)

    def n_epochs(self, n_rows: int) -> int:
        """Return the number of epochs for a number of rows."""
        wanted = self.n_steps // max(1, n_rows // self.batch_size)
        return min(max(wanted, self.fewest_epochs), self.most_epochs)


@dataclass(frozen=True, eq=False)
class PriorChoice:
    """What was chosen among the prior rows, and the margins it was chosen by.

    Attributes
    ----------
    deviation, weight_decay, first_factor, later_factor : float
        The candidates that won; see `PriorCourse`.
    n_epochs : int
    validation_loss, validation_error : float
        Linear loss and error rate on the validation rows, of the network trained without them.
    margins : ndarray of float64, shape (m,)
        `y G(x)` of that network on those rows. No certified row has a part in them, so they may choose
        whatever a certificate needs: (T, k), the C of a mixture, the route. Empty where there was a
        single prior row, which can validate nothing.
    retrained : bool
        Whether the network was trained again on all prior rows; not after an interrupt.
    """

    deviation: float
    weight_decay: float
    first_factor: float
    later_factor: float
    n_epochs: int
    validation_loss: float
    validation_error: float
    margins: NDArray[np.float64]
    retrained: bool


@dataclass(frozen=True)
class Recipe:
    """Everything an algorithm needs besides the examples.

    Attributes
    ----------
    n_features : int
    hidden_layer_sizes : tuple of int
    delta : float
        Failure probability of the bound, its share for one prior.
    constant : {"maurer", "paper"}
    objective : {"seeger", "catoni"}
        The form of the bound that is minimised; "catoni" learns C as the paper does.
    solver : {"hybrid", "adam"}
    course : Course
    learning_rate : float
    weight_decay : tuple of float
        Candidates; more than one only for the algorithms that select it.
    pretraining_epochs, pretraining_batch_size : int
        Of the paper's training of a prior.
    validation_fraction : float
    n_restarts : int
    aggregation : Aggregation
    prior_seed, batch_seed : int
    dtype, device
        Of the training; the result is float64 on the CPU.
    verbose : int
    prior_course : PriorCourse, optional
        How to train a prior thoroughly; the paper's short training unless given.
    """

    n_features: int
    hidden_layer_sizes: tuple[int, ...]
    delta: float
    constant: str
    objective: str
    solver: str
    course: Course
    learning_rate: float
    weight_decay: tuple[float, ...]
    pretraining_epochs: int
    pretraining_batch_size: int
    validation_fraction: float
    n_restarts: int
    aggregation: Aggregation
    prior_seed: int
    batch_seed: int
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    verbose: int = 0
    prior_course: PriorCourse | None = None

    def first_weights(self) -> list[Tensor]:
        """Xavier normal weights from the prior's seed, float64 on the CPU."""
        generator = torch.Generator().manual_seed(self.prior_seed)
        return initial_weights(
            self.n_features, self.hidden_layer_sizes, generator=generator, dtype=torch.float64
        )

    def replicate(self, weights: Sequence[Tensor], count: int) -> list[Tensor]:
        """`count` copies of the weights in a leading axis, in the type and place of training."""
        return [w.to(self.device, self.dtype).expand(count, *w.shape).clone() for w in weights]

    def seeds(self, count: int) -> Tensor:
        """Give each replica a seed for its batches, the same whatever the number of replicas."""
        seeds = np.random.SeedSequence(self.batch_seed).generate_state(count, dtype=np.uint64)
        return torch.from_numpy(seeds.view(np.int64)).to(self.device)

    def prior_batch_seed(self) -> Tensor:
        """Return the seed of the batches that train a prior, shape (1,)."""
        seed = np.random.SeedSequence([self.batch_seed, 1]).generate_state(1, dtype=np.uint64)
        return torch.from_numpy(seed.view(np.int64)).to(self.device)

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Write down and show a training."""
        with Progress(self.verbose) as progress:
            yield Journal(progress=progress)

    def rates(self, count: int) -> Tensor:
        """First learning rates of the replicas, shape (R,)."""
        multiples = [RATE_MULTIPLES[r % len(RATE_MULTIPLES)] for r in range(count)]
        return self.learning_rate * torch.tensor(multiples, dtype=torch.float64, device=self.device)


@dataclass(frozen=True)
class FitResult:
    """A trained network and how it came about.

    Attributes
    ----------
    network : AggregatedNetwork or TanhNetwork
        One network in float64 on the CPU, its prior included.
    history : list of dict
        One record per epoch or iteration.
    prior_kind : {"random", "pretrained", "zero", "none"}
    interrupted : bool
        Whether a keyboard interrupt ended the training early.
    prior_choice : PriorChoice, optional
        What was chosen among the prior rows, where the prior was trained thoroughly.
    """

    network: AggregatedNetwork | TanhNetwork
    history: list[dict[str, float | int | str]]
    prior_kind: str = "none"
    interrupted: bool = False
    prior_choice: PriorChoice | None = None
