"""What the certified rows say about a network: one function, for issuing and verifying."""

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import DEFAULT_TOLERANCE, Fourier
from pbgnet.certificates.routes import Measured
from pbgnet.exceptions import DomainError, DtypeError, ShapeError, UncertifiedError
from pbgnet.networks import (
    AggregatedNetwork,
    AnyCode,
    Code,
    LabelCode,
    PreparedRows,
    compute_rows,
    prepare_rows,
)
from pbgnet.preprocessing import BinnedTable
from pbgnet.validation import check_finite, refuse_masked

TOLERANCE = DEFAULT_TOLERANCE[torch.float64]
"""Largest truncation error of a layer in a certificate."""

LARGEST_ERROR = 1e-6
"""Largest proved error of an output in a certificate; that of a trained network is below 1e-8."""

# Rows are evaluated so many at a time, fewer where a layer would need more than WORKSPACE complex
# numbers for them: it takes rows x neurons x nodes.
CHUNK = 2048
WORKSPACE = 2**23


def certifiable(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return a copy of the network in the form of certificates: float64, on the CPU, with the Fourier sum."""
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
        members=network.architecture.n_members is not None,
        patches=network.architecture.patches,
    )


@torch.no_grad()
def outputs(network: AggregatedNetwork, x: Any) -> Tensor:
    """Return G in float64 for rows in any form, a few thousand at a time, shared between workers.

    Parameters
    ----------
    network : AggregatedNetwork
        As `certifiable` returns it.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)

    Returns
    -------
    Tensor, float64, shape (n,), or (n, r) for r > 1 outputs
    """
    n, n_features = row_count(x), network.architecture.n_features
    if x.shape[1] != n_features:
        raise ShapeError(f"The network expects rows with {n_features} features, got shape {tuple(x.shape)}.")
    if n == 0:
        return network.architecture.as_output(torch.zeros(0, network.architecture.n_outputs).double())
    return compute_rows(
        lambda rows: _output(network, prepared(network, x, rows.start, rows.stop)),
        n,
        _rows_at_a_time(network),
        operations=n * _multiplications(network),
    )


@dataclass(frozen=True, eq=False)
class Answers:
    """The outputs of a network on rows with labels, their accuracy, and what follows from them.

    Attributes
    ----------
    output : ndarray of float64, shape (n,), or (n, r) for r > 1 outputs
        The aggregate G, in [-1, 1].
    truth : ndarray of int64, shape (n,) or (n, L)
        Class indices of the true labels; for several labels 0 and 1.
    code : Code or LabelCode
        Which signs of the outputs mean which class.
    error : float
        Proved bound on the error of each output.
    divergence : float
        KL(posterior || prior), rounded up.
    among : int or None
        The class whose rows these are; None for rows of all classes.
    """

    output: NDArray[np.float64]
    truth: NDArray[np.int64]
    code: AnyCode
    error: float
    divergence: float
    among: int | None = None

    def of_class(self, place: int) -> "Answers":
        """Return the answers on rows of one class."""
        return replace(self.of_rows(self.truth == place), among=place)

    def of_rows(self, rows: NDArray[np.bool_]) -> "Answers":
        """Return the answers on some of the rows."""
        return replace(self, output=self.output[rows], truth=self.truth[rows])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.truth)

    @functools.cached_property
    def agreement(self) -> NDArray[np.float64]:
        """`y_j G_j(x)` of each row and output: shape (n,), or (n, r) for r > 1 outputs."""
        return self.code.targets(self.truth) * self.output

    @functools.cached_property
    def mean_agreement(self) -> NDArray[np.float64]:
        """The mean of these over outputs: the score of the class of each row."""
        return self.agreement if self.code.n_outputs == 1 else np.asarray(self.agreement.mean(axis=1))

    @property
    def margins(self) -> NDArray[np.float64]:
        """What settings are chosen with: the mean agreement, shape (n,), or that of each label, (n, L)."""
        return self.agreement if isinstance(self.code, LabelCode) else self.mean_agreement

    @property
    def margin_error(self) -> float:
        """Proved bound on the error of a score: that of the outputs, and the rounding of their mean."""
        r = self.code.n_outputs
        return self.error + (0.0 if r == 1 else (r + 2) * 2.0**-52)

    @property
    def leads(self) -> NDArray[np.float64]:
        """By how much the score of the true class exceeds all others."""
        return self.code.leads(self.output, self.truth)

    @property
    def answered(self) -> NDArray[np.int64]:
        """Places of the classes that the vote answers with; for several labels 0 and 1, shape (n, L)."""
        return self.code.decode(self.output)

    def may_answer(self, place: int) -> NDArray[np.bool_]:
        """Return the rows that the vote answers with a class, on this computer or another."""
        assert isinstance(self.code, Code)
        scores = self.code.scores(self.output)
        return np.asarray(scores[:, place] >= scores.max(axis=1) - 4 * self.margin_error)

    @property
    def distance(self) -> Fraction:
        """The smallest share of outputs in which the class of a row differs from another."""
        if isinstance(self.code, LabelCode):
            return Fraction(1)  # a label only depends on its own output
        if self.among is None:
            return self.code.distance
        return Fraction(int(self.code.nearest[self.among]), self.code.n_outputs)

    @functools.cached_property
    def measured(self) -> Measured:
        """What routes use; a row that the vote gets wrong on some computer counts as an error.

        The exact scores are within the proved error of what is computed here, and so is what another computer
        computes. The difference of two scores errs by twice as much, so that four times the error from here
        the answers are the same everywhere.
        """
        leads = self.leads
        return Measured(
            wrong=leads <= 4 * self.margin_error,
            losses=np.clip((1.0 - self.mean_agreement) / 2.0, 0.0, 1.0),
            loss_error=0.5 * self.margin_error,
            margins=self.margins,
            margin_error=self.margin_error,
            divergence=self.divergence,
            distance=self.distance,
            n_labels=self.code.n_labels if isinstance(self.code, LabelCode) else 1,
            surely_wrong=leads < -4 * self.margin_error,
        )

    @property
    def sureness(self) -> NDArray[np.float64]:
        """How sure the vote is of each row: `|G|` for two classes, for more its lead over the next class."""
        assert isinstance(self.code, Code)
        return self.code.sureness(self.output)

    @functools.cached_property
    def measured_answers(self) -> Measured:
        """What routes use if only some rows are answered; scores have the error of leads in `measured`."""
        return replace(self.measured, scores=self.sureness, score_error=4 * self.margin_error)

    @functools.cached_property
    def wrong_labels(self) -> NDArray[np.bool_]:
        """Which of several labels the vote gets wrong, on this computer or another: shape (n, L)."""
        return np.asarray(2.0 * self.agreement <= 4 * self.margin_error)

    @property
    def measured_labels(self) -> Measured:
        """What routes use for the Hamming loss of the votes; see `measured`."""
        return replace(self.measured, n_labels=1)

    @property
    def counted_labels(self) -> Measured:
        """What routes that count wrong labels use: their share in each row."""
        return Measured(self.measured.wrong, self.wrong_labels.mean(axis=1), loss_error=2.0**-52)

    def of_label(self, place: int) -> Measured:
        """Return what routes that count the errors of one label use."""
        return Measured(self.wrong_labels[:, place])

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
        """Number of rows that another machine might count, or answer, differently."""
        return int(np.sum(self.code.gaps(self.output) <= 8 * self.margin_error))


def evaluate(network: AggregatedNetwork, x: Any, truth: NDArray[np.int64], code: AnyCode) -> Answers:
    """Evaluate a network on rows whose classes, or labels, are known.

    Parameters
    ----------
    network : AggregatedNetwork
        As `certifiable` returns it.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)
        Rows, preprocessed.
    truth : ndarray of int, shape (n,) or (n, L)
        Class indices of the labels; for several labels 0 and 1.
    code : Code or LabelCode
        Which signs of the outputs mean which class.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import certifiable, evaluate
    >>> from pbgnet.networks import AggregatedNetwork, make_code
    >>> network = certifiable(AggregatedNetwork.initialise(2, (3,), initialisation="zero"))
    >>> result = evaluate(network, torch.ones(4, 2), np.array([1, 1, 1, 0]), make_code("auto", 2))
    >>> result.risk, result.n_errors, result.divergence
    (0.5, 4, 0.0)

    All outputs are 0: the vote is wrong on three rows, and a tie on the fourth, which counts as an error.
    """
    n = row_count(x)
    true = np.asarray(truth)
    code.check_truth(true, n)
    if n == 0:
        raise DomainError("There are no rows to certify; at least one is needed.")
    if network.architecture.n_outputs != code.n_outputs:
        raise ShapeError(
            f"The network has {network.architecture.n_outputs} outputs, but the code for {code.n_classes} "
            f"classes needs {code.n_outputs}."
        )
    divergence = _divergence_ceiling(network)  # first, because its message for absurd weights is best
    error = float(network.error_bound().max())  # at most 2, however large the weights
    return Answers(outputs(network, x).numpy(), true.astype(np.int64), code, error, divergence)


def prior_network(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return the network whose posterior is the prior."""
    sizes = network.architecture
    return AggregatedNetwork(
        network.prior_weights,
        intercept=sizes.intercept,
        members=sizes.n_members is not None,
        patches=sizes.patches,
    )


def is_prior(network: AggregatedNetwork) -> bool:
    """Whether posterior and prior are the same, so that one evaluation is enough for both."""
    return all(torch.equal(w, u) for w, u in zip(network.weights, network.prior_weights, strict=True))


def check_precise(answers: Answers) -> None:
    """Raise `UncertifiedError` if the outputs are not accurate enough to know the vote."""
    if not answers.error <= LARGEST_ERROR:
        raise UncertifiedError(
            f"The outputs are only accurate to {answers.error:.2g}, but a certificate needs {LARGEST_ERROR}: "
            "the weights are far too large. Train with a smaller learning rate, or scale the weights down."
        )


def row_count(x: Any) -> int:
    """Return the number of rows of a two-dimensional array of any kind."""
    refuse_masked("x", x)
    shape = getattr(x, "shape", None)
    if shape is None or len(shape) != 2:
        found = type(x).__name__ if shape is None else f"shape {tuple(shape)}"
        raise ShapeError(f"Rows must come as an array of shape (n, d), got {found}.")
    return int(shape[0])


def _output(network: AggregatedNetwork, rows: PreparedRows) -> Tensor:
    """Return G for rows that were checked when prepared; otherwise every layer would check all its values.

    NaN in any layer, because of absurd weights, leads to NaN in the output.
    """
    output = network.output(rows, validate_args=False)
    check_finite("The output of the network", output, "Its weights are too large, or not numbers.")
    return output


def _rows_at_a_time(network: AggregatedNetwork) -> int:
    n_members = network.architecture.n_members or 1
    return max(1, min(CHUNK, WORKSPACE // (n_members * max(_values_per_neuron(network)))))


def _values_per_neuron(network: AggregatedNetwork) -> list[int]:
    """Return how many numbers each layer computes for a row and an input: one, or one for each node."""
    first, *rest = network.layers
    return [
        first.n_neurons,
        *(layer.n_neurons * Fourier().nodes(layer.weight).largest_count for layer in rest),
    ]


def _multiplications(network: AggregatedNetwork) -> int:
    """Return the approximate number of operations of an answer to one row."""
    inputs = [layer.weight.shape[-1] for layer in network.layers]
    values = _values_per_neuron(network)
    return (network.architecture.n_members or 1) * sum(n * v for n, v in zip(inputs, values, strict=True))


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
    """Return the divergence rounded up: the error of a sum of n squared differences is below n + 8 units."""
    n_weights = sum(weight.numel() for weight in network.weights)
    value = float(network.divergence().detach())
    ceiling: float = value * (1.0 + (n_weights + 8) * 2.0**-52)
    if not math.isfinite(ceiling):
        raise DomainError("The divergence overflows: the weights are too large for any bound.")
    return ceiling
