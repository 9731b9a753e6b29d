"""All routes, and how certificates use them: a new route is a file and a line here."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pbgnet.certificates.routes.answered import FixedSequence, UnansweredCount
from pbgnet.certificates.routes.base import (
    ANSWERED_ERROR_RATE,
    ERROR_RATE,
    HAMMING_LOSS,
    LINEAR_LOSS,
    UNANSWERED_RATE,
    Route,
)
from pbgnet.certificates.routes.betting import Betting
from pbgnet.certificates.routes.catoni_mixture import CatoniMixture
from pbgnet.certificates.routes.chernoff import Chernoff
from pbgnet.certificates.routes.clopper_pearson import ClopperPearson, ClopperPearsonLower
from pbgnet.certificates.routes.disagreement import Disagreement
from pbgnet.certificates.routes.doubled import Doubled
from pbgnet.certificates.routes.seeger import Seeger
from pbgnet.certificates.routes.vote import Vote
from pbgnet.choices import CERTIFICATES
from pbgnet.exceptions import DomainError

ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        Seeger(),
        CatoniMixture(),
        Doubled(),
        Vote(),
        ClopperPearson(),
        ClopperPearsonLower(),
        Chernoff(),
        Betting(),
        Disagreement(),
        FixedSequence(),
        UnansweredCount(),
    )
}


PRIOR_VOTE = "prior's vote"
"""The predictor of routes that count errors: fixed before looking at the certified rows."""


class Offer(NamedTuple):
    """A quantity of a predictor, and the route to a bound on it."""

    predictor: str
    route: str
    quantity: str


def _with_hamming_loss(offers: tuple[Offer, ...]) -> tuple[Offer, ...]:
    """Put the Hamming loss of votes before each bound on their error rate."""
    return tuple(
        offer
        for each in offers
        for offer in ((_hamming_loss_beside(each), each) if each.quantity == ERROR_RATE else (each,))
    )


def _hamming_loss_beside(offer: Offer) -> Offer:
    """Return how the Hamming loss is bounded: for the prior's vote, by its mean on the certified rows."""
    route = "betting" if offer.predictor == PRIOR_VOTE else offer.route
    return Offer(offer.predictor, route, HAMMING_LOSS)


CANDIDATES: dict[str, tuple[Offer, ...]] = {
    "seeger": (Offer("aggregate", "seeger", LINEAR_LOSS), Offer("vote", "doubled", ERROR_RATE)),
    "mixture": (Offer("aggregate", "catoni-mixture", LINEAR_LOSS), Offer("vote", "doubled", ERROR_RATE)),
    "vote": (Offer("vote", "vote", ERROR_RATE),),
    "held-out": (Offer("prior's vote", "clopper-pearson", ERROR_RATE),),
    "held-out loss": (Offer("prior's aggregate", "chernoff", LINEAR_LOSS),),
    "held-out bets": (Offer("prior's aggregate", "betting", LINEAR_LOSS),),
}
"""What a certificate of a network may claim together, with the error rate last. All claims of a candidate use
the settings of its first. Candidates without an error rate are only for comparison.
"""

LABEL_CANDIDATES: dict[str, tuple[Offer, ...]] = {
    name: _with_hamming_loss(offers) for name, offers in CANDIDATES.items()
}
"""The same for several labels: the error rate, that of rows with any wrong label, and the Hamming loss. For a
posterior both follow from one bound; counts have their own settings and shares of delta.
"""

SELECTIVE = {ANSWERED_ERROR_RATE: "fixed-sequence", UNANSWERED_RATE: "unanswered-count"}
"""The routes for a predictor that only answers when it is sure, in order."""
COUNT_BELOW = "clopper-pearson-lower"
"""The route to a lower limit of an error rate that is counted."""

HELD_OUT_LOSS = "betting"
"""The route to the expected loss of a classifier that is only known by its losses."""


def candidates_of(several_labels: bool) -> dict[str, tuple[Offer, ...]]:
    """Return what may be claimed about a network, by the name of the candidate."""
    return LABEL_CANDIDATES if several_labels else CANDIDATES


def deploys_prior(name: str) -> bool:
    """Whether a candidate is about the prior's vote, which is then what is deployed."""
    return CANDIDATES[name][-1].predictor == PRIOR_VOTE


def check_registered(
    routes: Mapping[str, Route], candidates: Mapping[str, tuple[Offer, ...]], choices: Iterable[str]
) -> None:
    """Raise a `DomainError` that names the missing line if a route was only partly added."""
    for name, offers in candidates.items():
        for offer in offers:
            if offer.route not in routes:
                raise DomainError(
                    f"CANDIDATES[{name!r}] uses the route {offer.route!r}, which is not registered. "
                    "Add it to ROUTES."
                )
            if not routes[offer.route].bounds(offer.quantity, offer.predictor):
                raise DomainError(
                    f"CANDIDATES[{name!r}] asks the route {offer.route!r} for the {offer.quantity} of the "
                    f"{offer.predictor}. That route does not bound it: see its `quantity` and `predictors`."
                )
    for choice in choices:
        if choice != "auto" and choice not in candidates:
            raise DomainError(
                f"Users can choose the certificate {choice!r} (CERTIFICATES in pbgnet/choices.py), but no "
                "candidate has that name: add it to CANDIDATES in pbgnet/certificates/routes/registry.py."
            )


for _candidates in (CANDIDATES, LABEL_CANDIDATES):
    check_registered(ROUTES, _candidates, CERTIFICATES)
