"""A claim: one bound on one quantity of one predictor, with everything it was computed from."""

from dataclasses import dataclass
from typing import Annotated

from pbgnet.certificates.parts import Count, NonNegative, OpenProbability, PositiveCount, Probability, Sha256
from pbgnet.certificates.records import Limits, Record
from pbgnet.exceptions import DomainError

__all__ = [
    "LOSS_QUANTITY",
    "PREDICTORS",
    "ROUTES",
    "Choices",
    "Claim",
    "Evidence",
    "ReferenceRecord",
    "Settings",
    "Union",
]

LOSS_QUANTITY = "linear loss|brier loss|loss '(?!(linear|brier)')[A-Za-z_][A-Za-z0-9_]{0,79}'"
"""What a bound may speak of besides the error rate: a loss in [0, 1], perhaps a function of the user's.

Such a function has another name than those losses that we define.
"""

PREDICTORS = (
    "vote",
    "aggregate",
    "prior's vote",
    "prior's aggregate",
    "discarded vote",
    "discarded aggregate",
    "classifier",
)
"""Of the network that is deployed; of its prior; of a posterior that was trained and not kept; any other."""

ROUTES = {
    "seeger": ("linear loss", ("aggregate", "discarded aggregate")),
    "catoni-mixture": ("linear loss", ("aggregate", "discarded aggregate")),
    "doubled": ("error rate", ("vote", "discarded vote")),
    "vote": ("error rate", ("vote", "discarded vote")),
    "clopper-pearson": ("error rate", ("prior's vote", "classifier")),
    "chernoff": ("linear loss", ("prior's aggregate", "classifier")),
    "disagreement": ("error rate", ("classifier",)),
}
"""What each route bounds, and of which predictors: a count needs one that was fixed beforehand.

Of a classifier, "chernoff" bounds any loss in [0, 1].
"""

Positive = Annotated[float, Limits(low=0.0, open_low=True)]


@dataclass(frozen=True)
class Evidence(Record):
    """What a bound was computed from.

    Attributes
    ----------
    n : int
        Number of rows it counts.
    empirical_risk : float
        Mean of the loss of its route on them, as computed: the linear loss, the loss "at most k of T
        networks are right", another loss of a classifier, or the share of errors or disagreements.
    numerical_error : float
        Proved bound on the distance between the computed and the exact mean.
    margin_error : float
        Proved bound on the error of an output of the deployed vote, near 0 of which it may answer
        otherwise than the exact one.
    n_errors : int or None
        The count of the routes "clopper-pearson" and "disagreement".
    divergence : float or None
        KL(posterior || prior) of one network, rounded up; for the PAC-Bayes routes.
    n_draws : int or None
        Number of independent draws the risk was estimated from; None where it was computed.
    sampling_delta : float or None
        The share of delta that the draws pay.
    reference_bound : float or None
        Bound on the error rate of the other predictor; for the route "disagreement".
    """

    n: PositiveCount
    empirical_risk: Probability
    numerical_error: NonNegative = 0.0
    margin_error: NonNegative = 0.0
    n_errors: Count | None = None
    divergence: NonNegative | None = None
    n_draws: PositiveCount | None = None
    sampling_delta: OpenProbability | None = None
    reference_bound: Probability | None = None


@dataclass(frozen=True)
class Settings(Record):
    """What a route was told beforehand.

    Attributes
    ----------
    constant : {"maurer", "paper"} or None
        The constant of the kl theorem where it bounds the loss.
    c, weights : tuple of float or None
        Trade-offs and weights of the mixture where it bounds the loss; weights None for equal ones.
    n_networks, n_right : int or None
        T and k of the route "vote".

    Examples
    --------
    >>> from pbgnet.certificates.claim import Settings
    >>> Settings(constant="maurer", c=(1.0,))
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: A loss is bounded by the kl theorem or by a mixture, not by both.
    """

    constant: Annotated[str, Limits(choices=("maurer", "paper"))] | None = None
    c: tuple[Positive, ...] | None = None
    weights: tuple[Positive, ...] | None = None
    n_networks: Annotated[int, Limits(low=1, high=5000)] | None = None
    n_right: Annotated[int, Limits(low=0, high=4999)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constant is not None and self.c is not None:
            raise DomainError("A loss is bounded by the kl theorem or by a mixture, not by both.")
        if self.weights is not None and len(self.weights) != len(self.c or ()):
            raise DomainError("weights must be one for each c.")
        if (self.n_networks is None) != (self.n_right is None):
            raise DomainError("n_networks and n_right belong together.")


@dataclass(frozen=True)
class Claim(Record):
    """One bound.

    Attributes
    ----------
    quantity : str
        "error rate", "linear loss", "brier loss", or "loss" and the name of the user's function in quotes.
    predictor : str
        One of `PREDICTORS`.
    given_class : str or None
        Only rows whose label is this one (as Python writes it) are meant; None for all rows.
    route : str
        The argument, one of `ROUTES`.
    value : float
        The bound.
    delta : float
        Share of the failure probability it was computed with.
    evidence, settings

    Examples
    --------
    >>> from pbgnet.certificates.claim import Claim, Evidence
    >>> Claim("error rate", "classifier", "clopper-pearson", 0.03, 0.05, Evidence(100, 0.0, n_errors=0)).value
    0.03
    """

    quantity: Annotated[str, Limits(pattern=f"error rate|{LOSS_QUANTITY}")]
    predictor: Annotated[str, Limits(choices=PREDICTORS)]
    route: Annotated[str, Limits(choices=tuple(ROUTES))]
    value: Probability
    delta: OpenProbability
    evidence: Evidence
    settings: Settings = Settings()
    given_class: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        quantity, predictors = ROUTES[self.route]
        any_loss = (self.route, self.predictor) == ("chernoff", "classifier")
        fits = self.quantity != "error rate" if any_loss else self.quantity == quantity
        if not fits or self.predictor not in predictors:
            raise DomainError(
                f"route {self.route} bounds the {quantity} of {' or '.join(predictors)}, not the "
                f"{self.quantity} of {self.predictor}."
            )


@dataclass(frozen=True)
class Union(Record):
    """Something that was chosen after looking at the certified rows, or several claims made at once.

    Attributes
    ----------
    what : str
    count : int
        Number of possibilities; delta is divided by it.
    """

    what: str
    count: PositiveCount


@dataclass(frozen=True)
class Choices(Record):
    """What was chosen, and what the choosing cost.

    Attributes
    ----------
    certificate : str
        What was asked for: "seeger", "mixture", "vote", "held-out", "auto", or "disagreement".
    on_prior_rows : tuple of str
        Chosen on the prior rows alone, which costs nothing.
    unions : tuple of Union
        Paid for: the share of each claim is `delta_per_prior` divided by all counts.
    candidates : tuple of str
        The routes to the bound on the error rate between which the certified rows decided.
    """

    certificate: str
    on_prior_rows: tuple[str, ...] = ()
    unions: tuple[Union, ...] = ()
    candidates: tuple[str, ...] = ()

    @property
    def n_shares(self) -> int:
        """Into how many parts delta was divided."""
        product = 1
        for union in self.unions:
            product *= union.count
        return product


@dataclass(frozen=True)
class ReferenceRecord(Record):
    """The certified predictor that another one was compared with.

    Attributes
    ----------
    seal : str
        Fingerprint of its certificate.
    claim : Claim
        Its bound on the error rate, at the share of delta it has here.
    n_priors : int
        Number of priors its own delta is shared between.
    n_shares : int
        Into how many parts its own delta is divided besides.
    """

    seal: Sha256
    claim: Claim
    n_priors: PositiveCount
    n_shares: PositiveCount
