"""The held-out mean of a loss in [0, 1] by betting: for losses that are not just 0 or 1."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pbgnet.bounds import betting_bound, betting_budget, betting_grid, betting_log_capital
from pbgnet.certificates.routes.base import LINEAR_LOSS, Evidence, Foresight, Route, Settings
from pbgnet.certificates.routes.chernoff import MeanEvidence
from pbgnet.certificates.routes.measured import Measured
from pbgnet.records import Limits, Probability

Share = Annotated[float, Limits(low=0.0, high=1.0, open_low=True)]


@dataclass(frozen=True)
class BettingSettings(Settings):
    """The bets, shares of the capital; all begin with the same capital."""

    bets: Annotated[tuple[Share, ...], Limits(longest=1024)]


@dataclass(frozen=True)
class BettingEvidence(MeanEvidence):
    """Which mean the bets refute, and what they have then made of a capital of 1.

    Attributes
    ----------
    n, empirical_risk, numerical_error
        Rows, their mean loss as computed, and the proved bound on its error.
    refuted_mean : float
        The smallest mean that is refuted; 1 if none is.
    log_capital : float
        Logarithm of the capital if that were the mean, rounded down.
    """

    refuted_mean: Probability
    log_capital: float

    def slack_of(self, name: str) -> float | None:
        """The mean moves with the losses, whose errors are at most the error of their mean."""
        return 2.0 * self.numerical_error if name == "refuted_mean" else None


class Betting(Route):
    """A capital that grows by 1 / delta has probability at most delta, so such a mean is refuted."""

    name = "betting"
    summary = "the held-out mean loss of a predictor that was fixed in advance, by betting against it"
    quantity = LINEAR_LOSS
    predictors = ("prior's aggregate", "classifier")
    hamming_loss_of = ("prior's vote",)
    any_loss_of = "classifier"
    evidence_type: ClassVar[type[Evidence]] = BettingEvidence
    settings_type: ClassVar[type[Settings]] = BettingSettings

    def plan(self, foresight: Foresight) -> BettingSettings:
        """Choose bets around the best one for the losses on prior rows; a wide grid if there are none."""
        grid = betting_grid(foresight.losses, foresight.n, foresight.delta)
        return BettingSettings(tuple(grid.tolist()))

    def chosen(self, settings: BettingSettings) -> tuple[str, ...]:
        """Name the bets."""
        return (f"the {len(settings.bets)} bets",)

    def evidence(self, measured: Measured, settings: BettingSettings, delta: float) -> BettingEvidence:
        """Bet on the rows, and find the mean that they refute."""
        losses, error = measured.require_losses(), measured.loss_error
        refuted = betting_bound(losses, delta, settings.bets, numerical_error=error)
        capital = 0.0
        if refuted < 1.0:
            capital = betting_log_capital(losses, refuted, settings.bets, numerical_error=error)
        return BettingEvidence(measured.n, *measured.mean_loss(), refuted, capital)

    def value(self, evidence: BettingEvidence, settings: BettingSettings, delta: float) -> float:
        """Return the mean that is refuted, if the capital is enough for this delta."""
        return evidence.refuted_mean if evidence.log_capital >= betting_budget(delta) else 1.0

    def words(self, settings: BettingSettings) -> str:
        """Name it."""
        return "held-out bets"
