"""What a route is: one argument that leads from rows to a proved bound.

A route is an object with a name, what it bounds and for which predictors, its settings (chosen on the prior
rows), the evidence it takes from the certified rows, the value that this evidence proves, and words for it.
It is registered in `registry`, where issuing, `verify`, the report, the command line and the documentation
find it. `conformance` tests that it keeps its promises.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.routes.measured import Measured
from pbgnet.records import PositiveCount, Record

LINEAR_LOSS = "linear loss"
ERROR_RATE = "error rate"
ACCURACY = "accuracy"
"""The rate of right answers: an upper limit of it gives a lower limit of the error rate."""
HAMMING_LOSS = "hamming loss"
"""The share of labels that are wrong, if a row has several."""
ANSWERED_ERROR_RATE = "error rate of answered rows"
UNANSWERED_RATE = "rate of unanswered rows"
"""Quantities of a classifier that only answers when it is sure."""


COUNTED = (ERROR_RATE, ACCURACY, ANSWERED_ERROR_RATE, UNANSWERED_RATE)
"""Quantities that are counted, row by row; all others are losses with a mean."""


@dataclass(frozen=True)
class Evidence(Record):
    """What a bound was computed from; each route has its own kind.

    Attributes
    ----------
    n : int
        Number of rows it counts.
    """

    n: PositiveCount

    def at(self, delta: float) -> Self:
        """Return the same evidence for another share of delta."""
        return self

    def slack_of(self, name: str) -> float | None:
        """Return by how much a number that raises the bound may be stated lower, in addition to rounding.

        None for numbers for which a small difference in either direction is rounding.
        """
        return None


@dataclass(frozen=True)
class Settings(Record):
    """What a route was told beforehand; each route has its own kind. This one: nothing."""


EXPECTED_DIVERGENCE = 1.0
"""Divergence of a posterior from a trained prior for which settings are chosen, in nats. It is fixed here
because the posterior is trained on the certified rows. Measured on the paper's data: 0.1 to 2.
"""


@dataclass(frozen=True)
class Foresight:
    """What may be known when settings are chosen: never anything about the certified rows.

    Attributes
    ----------
    n : int
        Number of rows to be certified.
    delta : float
        Share of delta of the future bound.
    margins : ndarray or None
        Margins `y G(x)` of the prior on prior rows, in [-1, 1]; for several labels one each, shape (n, L).
        None if there are none to learn from.
    constant : str
        Of the kl theorem, as requested.
    distance : Fraction
        The smallest share of outputs in which two classes differ; 1 for two classes.
    of_votes : bool
        Whether the future losses are those of votes, each 0 or 1, rather than of the aggregate.
    divergence : float
        Expected divergence of the posterior from its prior; 0 if it was decided that the prior is the
        posterior.
    scores : ndarray or None
        How sure the prior is on prior rows, if only some rows are to be answered; not negative.
    max_error, coverage : float or None
        What is requested for answered rows: how often they may be wrong, or how many there should be.
    """

    n: int
    delta: float
    margins: NDArray[np.float64] | None = None
    constant: str = "maurer"
    distance: Fraction = Fraction(1)
    of_votes: bool = False
    divergence: float = EXPECTED_DIVERGENCE
    scores: NDArray[np.float64] | None = None
    max_error: float | None = None
    coverage: float | None = None
    _planned: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def learned(self) -> bool:
        """Whether settings are chosen using rows, rather than fixed for all data."""
        return self.margins is not None

    @property
    def losses(self) -> NDArray[np.float64] | None:
        """The loss of each prior row, a mean over its labels; None if there are none to learn from."""
        if self.margins is None:
            return None
        losses = (self.margins <= 0).astype(np.float64) if self.of_votes else (1.0 - self.margins) / 2.0
        return losses if losses.ndim == 1 else np.asarray(losses.mean(axis=1))

    def settings_of(self, route: "Route") -> Any:
        """Plan a route, once: the same settings are requested many times, and some take a while."""
        key = (
            route.name,
            self.n,
            self.delta,
            self.constant,
            self.distance,
            self.of_votes,
            self.divergence,
            id(self.margins),
            id(self.scores),
            self.max_error,
            self.coverage,
        )
        if key not in self._planned:
            self._planned[key] = route.plan(self)
        return self._planned[key]


class Route(ABC):
    """One argument for a bound; see the module."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it proves, in a line of the table of routes."""
    quantity: ClassVar[str]
    """What it bounds: `ERROR_RATE`, `ACCURACY` or `LINEAR_LOSS`."""
    predictors: ClassVar[tuple[str, ...]]
    """For which predictors; a count needs one that was fixed beforehand."""
    hamming_loss_of: ClassVar[tuple[str, ...]] = ()
    """Predictors of several labels for which it also bounds the share of wrong labels."""
    any_loss_of: ClassVar[str | None] = None
    """A predictor for which any loss in [0, 1] can be bounded, not only the linear one."""
    evidence_type: ClassVar[type[Evidence]]
    settings_type: ClassVar[type[Settings]] = Settings

    def plan(self, foresight: Foresight) -> Any:
        """Choose the settings, on the prior rows if there are any."""
        return self.settings_type()

    def chosen(self, settings: Any) -> tuple[str, ...]:
        """Say which settings were chosen on the prior rows."""
        return ()

    @abstractmethod
    def evidence(self, measured: Measured, settings: Any, delta: float) -> Any:
        """Take from the rows what the bound needs."""

    @abstractmethod
    def value(self, evidence: Any, settings: Any, delta: float) -> float:
        """Return the bound that evidence proves with probability 1 - delta, rounded up."""

    @abstractmethod
    def words(self, settings: Any) -> str:
        """Return a few words for a person, as in the report."""

    def bounds(self, quantity: str, predictor: str) -> bool:
        """Whether it can bound this quantity for this predictor."""
        if predictor == self.any_loss_of:
            return quantity not in COUNTED
        if quantity == HAMMING_LOSS:
            return predictor in self.hamming_loss_of
        return quantity == self.quantity and predictor in self.predictors
