"""What was measured on some rows, for any predictor: all that routes may use."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.bounds import exact_sum
from pbgnet.exceptions import DomainError

MEAN_ROUNDING = 2.0**-52
"""Error of a computed mean of losses in [0, 1]: each loss, their sum and the quotient are rounded once."""


@dataclass(frozen=True)
class Sample:
    """An empirical linear risk that was estimated from independent draws."""

    risk: float
    n_draws: int


@dataclass(frozen=True, eq=False)
class Measured:
    """What a predictor does on rows with labels.

    Attributes
    ----------
    wrong : ndarray of bool, shape (n,)
        Rows that are wrong, or may be, given the proved error; for a disagreement, rows that differ.
    losses : ndarray of float64, shape (n,), or None
        A loss in [0, 1] of each row.
    loss_error : float
        Proved bound on the error of each loss.
    margins : ndarray of float64, shape (n,) or (n, L), or None
        `y G(x)` of a network; with several outputs, their mean agreement with the true class; or that of each
        output with its label.
    margin_error : float
        Proved bound on the error of each margin.
    divergence : float or None
        KL(posterior || prior) of one network, rounded up.
    sample : Sample or None
        The mean loss from draws, if that is certified.
    reference_bound : float or None
        Bound on the error rate of the other predictor of a disagreement.
    distance : Fraction
        The smallest share of outputs in which the class of a row differs from another; 1 for two classes.
    surely_wrong : ndarray of bool, shape (n,), or None
        Rows that are wrong whatever the proved error; None means the same as `wrong`.
    n_labels : int
        If rows with any wrong label count, the number of labels; otherwise 1.
    scores : ndarray of float64, shape (n,), or None
        How sure the predictor is about each row, if it only answers some of them.
    score_error : float
        Proved bound on the difference between a score and the result of another computer.
    """

    wrong: NDArray[np.bool_]
    losses: NDArray[np.float64] | None = None
    loss_error: float = 0.0
    margins: NDArray[np.float64] | None = None
    margin_error: float = 0.0
    divergence: float | None = None
    sample: Sample | None = None
    reference_bound: float | None = None
    distance: Fraction = Fraction(1)
    n_labels: int = 1
    scores: NDArray[np.float64] | None = None
    score_error: float = 0.0
    surely_wrong: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.wrong.size)

    @property
    def n_errors(self) -> int:
        """Number of rows that are wrong or differ."""
        return int(self.wrong.sum())

    @property
    def n_sure_errors(self) -> int:
        """Number of rows that are wrong whatever the proved error, which a lower limit may count."""
        return self.n_errors if self.surely_wrong is None else int(self.surely_wrong.sum())

    def among(self, rows: NDArray[Any]) -> "Measured":
        """Return the same on some of the rows."""
        return replace(
            self,
            wrong=self.wrong[rows],
            losses=None if self.losses is None else self.losses[rows],
            margins=None if self.margins is None else self.margins[rows],
            scores=None if self.scores is None else self.scores[rows],
            surely_wrong=None if self.surely_wrong is None else self.surely_wrong[rows],
        )

    def require_losses(self) -> NDArray[np.float64]:
        """Return the losses, or raise an error if there are none."""
        if self.losses is None:
            raise DomainError("This route bounds a loss, but no losses were measured.")
        return self.losses

    def mean_loss(self) -> tuple[float, float]:
        """Return the mean loss and its proved error: that of each loss, and the rounding of the mean."""
        return mean_loss(self.require_losses()), self.loss_error + MEAN_ROUNDING


def mean_loss(losses: NDArray[np.float64]) -> float:
    """Return the mean from an exactly rounded sum, which does not depend on the order of the rows."""
    return exact_sum(losses) / losses.size


def risk_ceiling(risk: float, numerical_error: float) -> float:
    """Return an upper limit of the exact empirical risk, given the computed one and its error."""
    return min(1.0, math.nextafter(risk + numerical_error, 2.0))
