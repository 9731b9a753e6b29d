"""A claim: one bound on one quantity of one predictor, with everything it was computed from."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, NamedTuple, Self

from pbgnet.certificates.routes.base import (
    ACCURACY,
    ANSWERED_ERROR_RATE,
    ERROR_RATE,
    HAMMING_LOSS,
    UNANSWERED_RATE,
    Evidence,
    Route,
    Settings,
)
from pbgnet.certificates.routes.measured import Measured
from pbgnet.certificates.routes.registry import COUNT_BELOW, ROUTES
from pbgnet.exceptions import DamagedFileError, DomainError
from pbgnet.records import (
    ABSENT_IF_NONE,
    Limits,
    OpenProbability,
    Probability,
    Record,
    schema_reference,
)

LOSS_QUANTITY = "linear loss|brier loss|loss '(?!(?:linear|brier)')[A-Za-z_][A-Za-z0-9_]{0,79}'"
"""What a bound may be about besides the error rate: a loss in [0, 1], possibly a function of the user.

Such a function has a different name from the losses defined here.
"""

QUANTITIES = "|".join((ERROR_RATE, ACCURACY, HAMMING_LOSS, ANSWERED_ERROR_RATE, UNANSWERED_RATE))
"""All other quantities."""

MOST_CLAIMS = 2**16
"""Most claims of a certificate: all pairs of 255 classes. It keeps a file from overloading `verify`."""

PREDICTORS = (
    "vote",
    "aggregate",
    "prior's vote",
    "prior's aggregate",
    "discarded vote",
    "discarded aggregate",
    "classifier",
)
"""The deployed network; its prior; a posterior that was trained but not kept; any other classifier."""


@dataclass(frozen=True)
class Claim(Record):
    """One bound.

    Attributes
    ----------
    quantity : str
        "error rate", for several labels that of rows with any wrong label; "accuracy", the rate of all other
        rows; "hamming loss", the share of wrong labels; "linear loss", "brier loss", or "loss" and the name
        of the user's function in quotes; for a classifier that only answers when it is sure, "error rate of
        answered rows" and "rate of unanswered rows".
    predictor : str
        One of `PREDICTORS`.
    route : str
        The argument, one of `ROUTES`.
    value : float
        The bound.
    delta : float
        Share of the failure probability that it was computed with.
    evidence, settings
        What it was computed from, and what was fixed beforehand; their kinds depend on the route.
    given_class : str or None
        Only rows with this label (as Python writes it) are meant; None for all rows.
    answered : str or None
        Only answers with this class count as errors, as in a cell of the confusion matrix; None for all.
    label : str or None
        Only this one of several labels (as Python writes it) is meant; None for all.
    group : str or None
        Only rows of this group are meant; None for all.
    """

    quantity: Annotated[str, Limits(pattern=f"{QUANTITIES}|{LOSS_QUANTITY}")]
    predictor: Annotated[str, Limits(choices=PREDICTORS)]
    route: Annotated[str, Limits(choices=tuple(ROUTES))]
    value: Probability
    delta: OpenProbability
    evidence: Evidence
    settings: Settings
    given_class: str | None = None
    answered: str | None = None
    label: str | None = None
    group: str | None = field(default=None, metadata=ABSENT_IF_NONE)

    def __post_init__(self) -> None:
        super().__post_init__()
        route = self.argument
        if self.answered is not None and (
            self.given_class in (None, self.answered) or route.name != "clopper-pearson"
        ):
            raise DomainError(
                "A cell of the confusion matrix needs two different classes and the route clopper-pearson."
            )
        if self.label is not None and (self.given_class is not None or route.name != "clopper-pearson"):
            raise DomainError(
                "A claim about one label needs the route clopper-pearson, and cannot also name a class."
            )
        counted = route.name in ("clopper-pearson", COUNT_BELOW)
        if self.group is not None and (not counted or (self.given_class, self.label) != (None, None)):
            raise DomainError(
                "A claim about a group must be a count (clopper-pearson), and cannot also name a class or a "
                "label."
            )
        if not route.bounds(self.quantity, self.predictor):
            raise DomainError(
                f"route {route.name} bounds the {route.quantity} of {' or '.join(route.predictors)}, not the "
                f"{self.quantity} of {self.predictor}."
            )
        for name, kind in (("evidence", route.evidence_type), ("settings", route.settings_type)):
            if type(getattr(self, name)) is not kind:
                raise DomainError(
                    f"{name} of the route {route.name} must be {kind.__name__}, got "
                    f"{type(getattr(self, name)).__name__}."
                )

    @property
    def overall(self) -> bool:
        """Whether it is about all rows and all labels."""
        return self.event == ANY_ERROR

    @property
    def event(self) -> "Event":
        """What counts as an error."""
        return Event(self.given_class, self.answered, self.label, self.group)

    @property
    def argument(self) -> Route:
        """The route as an object."""
        return ROUTES[self.route]

    @property
    def words(self) -> str:
        """A few words for the route and the predictor it is about."""
        name = self.argument.words(self.settings)
        factor = 2 * getattr(self.evidence, "n_labels", 1) / getattr(self.evidence, "distance", 1)
        if self.route == "doubled" and factor > 2:  # for more than two classes, or for any of several labels
            name = name.replace("twice", f"{float(factor):.3g} times")
        if self.predictor.startswith("prior's"):
            return f"{name}, prior alone"
        return f"{name}, posterior not kept" if self.discarded else name

    @property
    def discarded(self) -> bool:
        """Whether it is about a posterior that was not kept."""
        return self.predictor.startswith("discarded")

    @property
    def empirical_risk(self) -> float:
        """The mean loss, or share of errors, on the rows, which every kind of evidence contains."""
        return float(getattr(self.evidence, "empirical_risk"))  # noqa: B009

    def recomputed(self) -> "Claim":
        """Return the claim with the value that follows from evidence, settings and delta."""
        return replace(self, value=self.argument.value(self.evidence, self.settings, self.delta))

    def at(self, delta: float) -> "Claim":
        """Return what the same evidence proves at another share of delta."""
        return replace(self, delta=delta, evidence=self.evidence.at(delta)).recomputed()

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a claim, with evidence and settings of the kinds of its route; see `Record.from_dict`."""
        route = data.get("route") if isinstance(data, dict) else None
        if route is not None and (not isinstance(route, str) or route not in ROUTES):
            raise DamagedFileError(
                f"{f'{where}.' if where else ''}route must be one of {', '.join(ROUTES)}, got {route!r:.60}."
            )
        return super().from_dict(data, where)

    @classmethod
    def hints_for(cls, data: object) -> dict[str, Any]:
        """Read evidence and settings as the kinds of the route."""
        name = data.get("route") if isinstance(data, dict) else None
        hints = super().hints_for(data)
        if name is None:
            return hints
        return hints | {"evidence": ROUTES[name].evidence_type, "settings": ROUTES[name].settings_type}

    @classmethod
    def schema(cls, definitions: dict[str, Any]) -> dict[str, Any]:
        """One object for each route, with its own evidence and settings."""
        whole = super().schema({})
        for name in ("evidence", "settings"):
            whole["properties"][name] = {"type": "object"}
        parts = [
            {
                "route": {"const": route.name},
                "evidence": schema_reference(route.evidence_type, definitions),
                "settings": schema_reference(route.settings_type, definitions),
            }
            for route in ROUTES.values()
        ]
        return {**whole, "oneOf": [{"properties": part} for part in parts]}


class Event(NamedTuple):
    """What counts as an error: any wrong answer, possibly only for a class or group; one answer; a label."""

    given_class: str | None = None
    answered: str | None = None
    label: str | None = None
    group: str | None = None

    @property
    def words(self) -> str:
        """Which rows and errors it is about, to follow the name of a quantity; "" for all."""
        return (
            ("" if self.given_class is None else f" in class {self.given_class}")
            + ("" if self.answered is None else f", answered {self.answered}")
            + ("" if self.label is None else f" in label {self.label}")
            + ("" if self.group is None else f" in group {self.group}")
        )


ANY_ERROR = Event()
"""Any wrong answer, on all rows."""


def balanced_bound(claims: Iterable[Claim]) -> float | None:
    """Return the mean of the bounds on the classes, rounded up; None if no class has a bound.

    If all of them hold, so does this bound on the mean of the error rates: it needs no share of delta.

    Examples
    --------
    >>> from pbgnet.certificates.routes import balanced_bound
    >>> balanced_bound([]) is None
    True
    """
    values = [
        Fraction(claim.value) for claim in claims if claim.given_class is not None and claim.answered is None
    ]
    if not values:
        return None
    return _rounded_up(sum(values, Fraction()) / len(values))


def largest_difference(claims: Iterable[Claim]) -> float | None:
    """Return a bound on the largest difference between the error rates of two groups, rounded up.

    The largest difference between the upper limit of one group and the lower limit of another. If all limits
    hold, so does this one: it needs no share of delta. None if no two groups have limits.

    Examples
    --------
    >>> from pbgnet.certificates.routes import largest_difference
    >>> largest_difference([]) is None
    True
    """
    limits: dict[str, dict[str, Fraction]] = {}
    for claim in claims:
        if claim.group is not None:
            limits.setdefault(claim.group, {})[claim.quantity] = Fraction(claim.value)
    pairs = [
        upper[ERROR_RATE] - (1 - lower[ACCURACY])
        for one, upper in limits.items()
        for other, lower in limits.items()
        if one != other and ERROR_RATE in upper and ACCURACY in lower
    ]
    return _rounded_up(max(pairs)) if pairs else None


def _rounded_up(exact: Fraction) -> float:
    rounded = float(exact)
    return rounded if rounded >= exact else math.nextafter(rounded, 1.0)


def make_claim(
    predictor: str,
    route: str,
    measured: Measured,
    settings: Settings | None = None,
    *,
    delta: float,
    quantity: str | None = None,
    event: Event = ANY_ERROR,
) -> Claim:
    """Bound a quantity of a predictor by a route, from what was measured.

    Parameters
    ----------
    predictor, route : str
    measured : Measured
        On the certified rows, or on those of one class.
    settings : Settings, optional
        What was fixed beforehand; by default nothing.
    delta : float
        The share of the failure probability.
    quantity : str, optional
        By default what the route bounds.
    event : Event, optional
        What counts as an error; by default any, on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.routes import Measured, make_claim
    >>> never_wrong = Measured(np.zeros(100, dtype=bool))
    >>> round(make_claim("classifier", "clopper-pearson", never_wrong, delta=0.05).value, 6)
    0.029513
    """
    argument = ROUTES[route]
    settings = argument.settings_type() if settings is None else settings
    evidence = argument.evidence(measured, settings, delta)
    value = argument.value(evidence, settings, delta)
    return Claim(
        quantity or argument.quantity,
        predictor,
        route,
        value,
        delta,
        evidence,
        settings,
        *event,
    )
