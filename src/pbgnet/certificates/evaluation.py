"""What the certified rows say about a network: one function, used to issue and to verify."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Fourier
from pbgnet.aggregation.fourier import DEFAULT_TOLERANCE
from pbgnet.bounds.vote import vote_loss_error, vote_losses
from pbgnet.exceptions import DomainError, DtypeError, LabelError, ShapeError, UncertifiedError
from pbgnet.networks import AggregatedNetwork

__all__ = [
    "LARGEST_ERROR",
    "MEAN_ROUNDING",
    "TOLERANCE",
    "Answers",
    "Evaluation",
    "answer",
    "certifiable",
    "check_precise",
    "dense_rows",
    "evaluate",
    "mean_loss",
    "outputs",
    "risk_ceiling",
    "row_count",
]

TOLERANCE = DEFAULT_TOLERANCE[torch.float64]
"""Largest truncation error of a layer in a certificate."""

LARGEST_ERROR = 1e-6
"""Largest proved error of an output in a certificate; that of a network that was trained is below 1e-8."""

# Rows are evaluated so many at a time, fewer where a layer would need more than WORKSPACE complex
# numbers for them: it takes rows x neurons x nodes.
CHUNK = 2048
WORKSPACE = 2**23

MEAN_ROUNDING = 2.0**-52
"""Error of a computed mean of losses in [0, 1]: each loss, their sum and the quotient are rounded once."""


@dataclass(frozen=True)
class Evaluation:
    """Exact-to-a-proved-error results of a network on some rows, in float64.

    Attributes
    ----------
    n : int
        Number of rows.
    risk : float
        Mean linear loss of the aggregate, as computed.
    n_errors : int
        Number of rows its vote may get wrong on some computer: wrong, or within the error of a tie.
    n_wrong : int
        Number of rows its vote gets wrong here, as version 1 of the schema counts.
    n_ties : int
        Rows whose output is within the errors of two computations of 0 or of the border of `n_errors`:
        another computer may count them otherwise.
    numerical_error : float
        Bound on the distance between `risk` and its exact value: half the error of the output, for
        the linear loss halves it, and the rounding of the mean.
    divergence : float
        KL(posterior || prior), rounded up.
    """

    n: int
    risk: float
    n_errors: int
    n_wrong: int
    n_ties: int
    numerical_error: float
    divergence: float

    @property
    def error_rate(self) -> float:
        """Share of the rows the vote may get wrong."""
        return self.n_errors / self.n


def certifiable(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return the network as certificates speak of it: float64, on the CPU, summed by Fourier.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates.evaluation import certifiable
    >>> from pbgnet.networks import AggregatedNetwork
    >>> network = AggregatedNetwork.initialise(2, (), initialisation="zero", aggregation="enumeration")
    >>> certifiable(network).weights[0].dtype
    torch.float64
    """
    if not isinstance(network, AggregatedNetwork):
        raise DtypeError(f"Only an AggregatedNetwork can be certified, got {type(network).__name__}.")
    if network.architecture.replicas:
        raise ShapeError(
            f"The network has replica axes {network.architecture.replicas}; certify one network at a time."
        )
    return AggregatedNetwork(
        [weight.detach().cpu().double() for weight in network.weights],
        [weight.detach().cpu().double() for weight in network.prior_weights],
        intercept=network.architecture.intercept,
        aggregation=Fourier(),
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
    parts = [network(dense_rows(x, start, min(start + step, n))) for start in range(0, n, step)]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Answers:
    """The outputs of a network on rows with labels, and how exact they are.

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

    def linear_risk(self) -> tuple[float, float]:
        """Return the mean linear loss and its proved error: half that of the output, and the rounding."""
        losses = np.clip((1.0 - self.labels * self.output) / 2.0, 0.0, 1.0)
        return mean_loss(losses), 0.5 * self.error + MEAN_ROUNDING

    def vote_risk(self, n_networks: int, n_right: int) -> tuple[float, float]:
        """Return the mean chance that at most k of T networks are right, and its proved error."""
        margins = np.clip(self.labels * self.output, -1.0, 1.0)
        risk = mean_loss(vote_losses(margins, n_networks, n_right))
        return risk, vote_loss_error(n_networks, n_right, self.error)

    def evaluation(self) -> "Evaluation":
        """Sum it up."""
        risk, error = self.linear_risk()
        return Evaluation(
            n=self.n,
            risk=risk,
            n_errors=int(np.sum(self.labels * self.output <= self.error)),
            n_wrong=int(np.sum((self.output > 0) != (self.labels > 0))),
            n_ties=int(np.sum(np.abs(self.output) <= 3 * self.error)),
            numerical_error=error,
            divergence=self.divergence,
        )


def answer(network: AggregatedNetwork, x: Any, y: Tensor) -> Answers:
    """Compute the outputs of a network on rows with labels -1 and 1; parameters as in `evaluate`."""
    network = certifiable(network)
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


def evaluate(network: AggregatedNetwork, x: Any, y: Tensor) -> Evaluation:
    """Evaluate a network on rows with labels -1 and 1.

    Parameters
    ----------
    network : AggregatedNetwork
        Without replica axes; converted by `certifiable`.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)
        Rows, preprocessed.
    y : Tensor, shape (n,)
        Labels -1 and 1.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates import evaluate
    >>> from pbgnet.networks import AggregatedNetwork
    >>> network = AggregatedNetwork.initialise(2, (3,), initialisation="zero")
    >>> result = evaluate(network, torch.ones(4, 2), torch.tensor([1, 1, 1, -1]))
    >>> result.risk, result.n_errors, result.divergence
    (0.5, 4, 0.0)

    All outputs are 0: the vote is wrong on three rows, and a tie on the fourth, which counts as an error.
    """
    return answer(network, x, y).evaluation()


def check_precise(answers: Answers) -> None:
    """Raise `UncertifiedError` if the outputs are too inexact to say what the vote is.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.evaluation import Answers, check_precise
    >>> check_precise(Answers(np.zeros(1), np.ones(1), 0.5, 0.0))
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UncertifiedError: The outputs are proved to within 0.5 only, and a certificate needs
    1e-06: the weights are absurdly large. Train with a smaller learning rate, or scale the weights down.
    """
    if not answers.error <= LARGEST_ERROR:
        raise UncertifiedError(
            f"The outputs are proved to within {answers.error:.2g} only, and a certificate needs "
            f"{LARGEST_ERROR}: the weights are absurdly large. Train with a smaller learning rate, or scale "
            "the weights down."
        )


def risk_ceiling(risk: float, numerical_error: float) -> float:
    """Return a number the exact empirical risk is at most, given the computed one and its error."""
    return min(1.0, math.nextafter(risk + numerical_error, 2.0))


def row_count(x: Any) -> int:
    """Return the number of rows of a two-dimensional array of any kind."""
    shape = getattr(x, "shape", None)
    if shape is None or len(shape) != 2:
        found = type(x).__name__ if shape is None else f"shape {tuple(shape)}"
        raise ShapeError(f"Rows must come as an array of shape (n, d), got {found}.")
    return int(shape[0])


def mean_loss(losses: NDArray[np.float64]) -> float:
    """Return the mean from an exactly rounded sum: it does not depend on the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.evaluation import mean_loss
    >>> mean_loss(np.full(10, 0.1)), float(np.cumsum(np.full(10, 0.1))[-1] / 10)
    (0.1, 0.09999999999999999)
    """
    return math.fsum(losses.tolist()) / losses.size


def _rows_at_a_time(network: AggregatedNetwork) -> int:
    costs = [weight.shape[-2] * Fourier().nodes(weight).largest_count for weight in list(network.weights)[1:]]
    return max(1, min(CHUNK, WORKSPACE // max(costs, default=1)))


def dense_rows(x: Any, start: int, stop: int) -> Tensor:
    """Return some rows of an array of any kind as a dense float64 tensor."""
    part = x[start:stop]
    if isinstance(part, Tensor):
        return part.detach().cpu().double()
    array = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    return torch.tensor(np.ascontiguousarray(array, dtype=np.float64))


def _divergence_ceiling(network: AggregatedNetwork) -> float:
    """Return the divergence rounded up: a sum of squares of n differences errs by less than n + 8 units."""
    n_weights = sum(weight.numel() for weight in network.weights)
    value = float(network.divergence().detach())
    ceiling: float = value * (1.0 + (n_weights + 8) * 2.0**-52)
    if not math.isfinite(ceiling):
        raise DomainError("The divergence overflows; the weights are too large for any bound.")
    return ceiling
