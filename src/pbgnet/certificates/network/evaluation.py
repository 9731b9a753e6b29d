"""What the certified rows say about a network: one function, used to issue and to verify."""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import DEFAULT_TOLERANCE, Fourier
from pbgnet.certificates.routes import Measured
from pbgnet.exceptions import DomainError, DtypeError, LabelError, ShapeError, UncertifiedError
from pbgnet.networks import AggregatedNetwork, PreparedRows, prepare_rows
from pbgnet.preprocessing import BinnedTable
from pbgnet.validation import refuse_masked

TOLERANCE = DEFAULT_TOLERANCE[torch.float64]
"""Largest truncation error of a layer in a certificate."""

LARGEST_ERROR = 1e-6
"""Largest proved error of an output in a certificate; that of a network that was trained is below 1e-8."""

# Rows are evaluated so many at a time, fewer where a layer would need more than WORKSPACE complex
# numbers for them: it takes rows x neurons x nodes.
CHUNK = 2048
WORKSPACE = 2**23


def certifiable(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return a copy of the network as certificates speak of it: float64, on the CPU, summed by Fourier."""
    if not isinstance(network, AggregatedNetwork):
        raise DtypeError(f"Only an AggregatedNetwork can be certified, got {type(network).__name__}.")
    if network.architecture.replicas:
        raise ShapeError(
            f"The network has replica axes {network.architecture.replicas}; certify one network at a time."
        )
    if network.architecture.n_outputs > 1:
        raise UncertifiedError(
            f"The network has {network.architecture.n_outputs} outputs, and certificates of several outputs "
            "do not exist yet; certify a network with one."
        )
    return AggregatedNetwork(
        [weight.detach().cpu().double() for weight in network.weights],
        [weight.detach().cpu().double() for weight in network.prior_weights],
        intercept=network.architecture.intercept,
        aggregation=Fourier(),
        members=network.architecture.n_members is not None,
    )


@torch.no_grad()
def outputs(network: AggregatedNetwork, x: Any) -> Tensor:
    """Return G in float64 for rows in any form, a few thousand at a time.

    Parameters
    ----------
    network : AggregatedNetwork
        As `certifiable` returns it.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)

    Returns
    -------
    Tensor, float64, shape (n,)
    """
    n, n_features = row_count(x), network.architecture.n_features
    if x.shape[1] != n_features:
        raise ShapeError(f"The network takes rows of {n_features} features, got shape {tuple(x.shape)}.")
    step = _rows_at_a_time(network)
    parts = [network.output(prepared(network, x, start, start + step)) for start in range(0, n, step)]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Answers:
    """The outputs of a network on rows with labels, how exact they are, and what follows from them.

    Attributes
    ----------
    output : ndarray of float64, shape (n,)
        The aggregate G, in [-1, 1].
    labels : ndarray of float64, shape (n,)
        -1 and 1.
    error : float
        Proved bound on the error of each output.
    divergence : float
        KL(posterior || prior), rounded up.
    """

    output: NDArray[np.float64]
    labels: NDArray[np.float64]
    error: float
    divergence: float

    def of_class(self, label: float) -> "Answers":
        """Return those on rows of one class, -1 or 1."""
        rows = self.labels == label
        return replace(self, output=self.output[rows], labels=self.labels[rows])

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.output.size

    @property
    def margins(self) -> NDArray[np.float64]:
        """`y G(x)` of each row."""
        return self.labels * self.output

    @functools.cached_property
    def measured(self) -> Measured:
        """What routes look at; a row that the vote gets wrong on some computer counts as an error.

        The exact output is within the proved error of what is computed here, and so is what another computer
        computes: twice that error from here the answers are the same everywhere.
        """
        return Measured(
            wrong=self.margins <= 2 * self.error,
            losses=np.clip((1.0 - self.margins) / 2.0, 0.0, 1.0),
            loss_error=0.5 * self.error,
            margins=self.margins,
            margin_error=self.error,
            divergence=self.divergence,
        )

    @property
    def risk(self) -> float:
        """Mean linear loss."""
        return self.measured.mean_loss()[0]

    @property
    def numerical_error(self) -> float:
        """Proved bound on the distance between `risk` and the exact mean."""
        return self.measured.mean_loss()[1]

    @property
    def n_errors(self) -> int:
        """Number of rows the vote gets wrong, on this computer or another; see `measured`."""
        return self.measured.n_errors

    @property
    def n_ties(self) -> int:
        """Number of rows that another machine might count otherwise."""
        return int(np.sum(np.abs(self.output) <= 4 * self.error))


def evaluate(network: AggregatedNetwork, x: Any, y: Tensor) -> Answers:
    """Evaluate a network on rows with labels -1 and 1.

    Parameters
    ----------
    network : AggregatedNetwork
        As `certifiable` returns it.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)
        Rows, preprocessed.
    y : Tensor, shape (n,)
        Labels -1 and 1.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates import certifiable, evaluate
    >>> from pbgnet.networks import AggregatedNetwork
    >>> network = certifiable(AggregatedNetwork.initialise(2, (3,), initialisation="zero"))
    >>> result = evaluate(network, torch.ones(4, 2), torch.tensor([1, 1, 1, -1]))
    >>> result.risk, result.n_errors, result.divergence
    (0.5, 4, 0.0)

    All outputs are 0: the vote is wrong on three rows, and a tie on the fourth, which counts as an error.
    """
    n = row_count(x)
    labels = torch.as_tensor(y).detach().cpu().double()
    if labels.shape != (n,):
        raise ShapeError(f"There are {n} rows but labels of shape {tuple(labels.shape)}.")
    if n == 0:
        raise DomainError("There is no row to certify; at least one is needed.")
    if bool((labels.abs() != 1).any()):
        raise LabelError("Labels must be -1 and 1; encode the two classes first.")
    divergence = _divergence_ceiling(network)  # first: it says best what is wrong with absurd weights
    error = float(network.error_bound())  # at most 2, however large the weights
    return Answers(outputs(network, x).numpy(), labels.numpy(), error, divergence)


def prior_network(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return the network whose posterior is the prior."""
    sizes = network.architecture
    return AggregatedNetwork(
        network.prior_weights, intercept=sizes.intercept, members=sizes.n_members is not None
    )


def check_precise(answers: Answers) -> None:
    """Raise `UncertifiedError` if the outputs are too inexact to say what the vote is."""
    if not answers.error <= LARGEST_ERROR:
        raise UncertifiedError(
            f"The outputs are proved to within {answers.error:.2g} only, and a certificate needs "
            f"{LARGEST_ERROR}: the weights are absurdly large. Train with a smaller learning rate, or scale "
            "the weights down."
        )


def row_count(x: Any) -> int:
    """Return the number of rows of a two-dimensional array of any kind."""
    refuse_masked("x", x)
    shape = getattr(x, "shape", None)
    if shape is None or len(shape) != 2:
        found = type(x).__name__ if shape is None else f"shape {tuple(shape)}"
        raise ShapeError(f"Rows must come as an array of shape (n, d), got {found}.")
    return int(shape[0])


def _rows_at_a_time(network: AggregatedNetwork) -> int:
    costs = [layer.n_neurons * Fourier().nodes(layer.weight).largest_count for layer in network.layers[1:]]
    n_members = network.architecture.n_members or 1
    return max(1, min(CHUNK, WORKSPACE // (n_members * max(costs, default=1))))


def prepared(network: AggregatedNetwork, x: Any, start: int, stop: int) -> PreparedRows:
    """Return some rows of an array of any kind as the network reads them, float64; codes may stay codes."""
    part = x[start:stop]
    if isinstance(part, BinnedTable):
        intercept = network.architecture.intercept
        return prepare_rows(part, unit=True, intercept=intercept, dtype=torch.float64, device="cpu")
    if isinstance(part, Tensor):
        return network.prepare(part.detach().cpu().double())
    array = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    return network.prepare(torch.tensor(np.ascontiguousarray(array, dtype=np.float64)))


def _divergence_ceiling(network: AggregatedNetwork) -> float:
    """Return the divergence rounded up: a sum of squares of n differences errs by less than n + 8 units."""
    n_weights = sum(weight.numel() for weight in network.weights)
    value = float(network.divergence().detach())
    ceiling: float = value * (1.0 + (n_weights + 8) * 2.0**-52)
    if not math.isfinite(ceiling):
        raise DomainError("The divergence overflows; the weights are too large for any bound.")
    return ceiling
