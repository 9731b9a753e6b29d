"""From what was requested to what is claimed: the routes, the choice between them, and its price.

Everything chosen on the prior rows is free. The certified rows may decide between two routes if each is
computed at half of delta: then both hold together, whichever is used.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.data import Groups
from pbgnet.certificates.format import Choices, Claimed, Union, Wanted
from pbgnet.certificates.network.evaluation import Answers
from pbgnet.certificates.network.terms import Terms
from pbgnet.certificates.routes import (
    ANSWERED_ERROR_RATE,
    ANY_ERROR,
    CANDIDATES,
    ERROR_RATE,
    EXPECTED_DIVERGENCE,
    HAMMING_LOSS,
    ROUTES,
    SELECTIVE,
    Claim,
    Event,
    Foresight,
    Measured,
    Sample,
    Settings,
    candidates_of,
    deploys_prior,
    make_claim,
)
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.networks import LabelCode
from pbgnet.validation import as_read_only


@dataclass(frozen=True, eq=False)
class Situation:
    """The answers of networks on the rows that matter.

    Attributes
    ----------
    posterior, prior : Answers
        On the certified rows; the same object if the posterior is the prior.
    classes : tuple of str
        As Python writes them; or the names of several labels.
    margins : ndarray or None
        Margins of the prior on prior rows, for choosing settings; None if there are none to learn from.
    sample : Sample or None
        The posterior's risk from draws, if that is certified.
    scores : ndarray or None
        How sure the prior is on prior rows, for placing thresholds; None if all rows are answered.
    groups : Groups or None
        The group of each certified row, if groups are bounded.
    """

    posterior: Answers
    prior: Answers
    classes: tuple[str, ...]
    margins: NDArray[np.float64] | None = None
    sample: Sample | None = None
    groups: Groups | None = None
    scores: NDArray[np.float64] | None = None

    @property
    def several_labels(self) -> bool:
        """Whether rows have several labels, rather than one class."""
        return isinstance(self.prior.code, LabelCode)

    @property
    def has_posterior(self) -> bool:
        """Whether there is a posterior other than the prior: an ensemble has none."""
        return self.posterior is not self.prior

    def answers(self, predictor: str, event: Event = ANY_ERROR) -> Answers:
        """Return what a predictor answers on the certified rows, or on those of one class or group."""
        answers = self.prior if predictor.startswith("prior's") else self.posterior
        if event.group is not None:
            if self.groups is None:
                raise DomainError(f"There is no group {event.group}: these rows have no groups.")
            return answers.of_rows(self.groups.rows_of(event.group))
        if event.given_class is None:
            return answers
        return answers.of_class(self.classes.index(event.given_class))

    def measured(
        self, predictor: str, quantity: str = ERROR_RATE, event: Event = ANY_ERROR, *, exact: bool = False
    ) -> Measured:
        """Return the same in the form that routes use; without the draws if it must be exact.

        The event may be an answer, or a label, that alone counts as an error.
        """
        answers = self.answers(predictor, event)
        if event.label is not None:
            return answers.of_label(self.classes.index(event.label))
        if event.answered is not None:
            return Measured(answers.may_answer(self.classes.index(event.answered)))
        found = answers.measured_answers if quantity in SELECTIVE else answers.measured
        if quantity == HAMMING_LOSS:
            found = answers.counted_labels if predictor == "prior's vote" else answers.measured_labels
        return found if exact else replace(found, sample=self.sample)

    def claim(self, proposed: "Proposal", delta: float, event: Event = ANY_ERROR) -> Claim:
        """Make a claim at a share of delta."""
        return make_claim(
            proposed.predictor,
            proposed.route,
            self.measured(proposed.predictor, proposed.quantity, event),
            proposed.settings,
            delta=delta,
            quantity=proposed.quantity,
            event=event,
        )


@dataclass(frozen=True)
class Proposal:
    """A route, the quantity and predictor it is about, and its settings."""

    predictor: str
    route: str
    quantity: str
    settings: Settings

    def beside(self, claimed: Claimed, foresight: Foresight) -> "Proposal":
        """Return how something else is bounded, given how the error rate over all rows is bounded."""
        route = claimed.route_beside(self.route)
        settings = foresight.settings_of(ROUTES[route]) if claimed.quantity in SELECTIVE else self.settings
        return replace(self, quantity=claimed.quantity, route=route, settings=settings)


@dataclass(frozen=True)
class Decision:
    """What a certificate will say.

    Attributes
    ----------
    claims, alternatives : tuple of Claim
    choices : Choices
    deploys_prior : bool
        Whether the prior's own vote is what is deployed.
    """

    claims: tuple[Claim, ...]
    alternatives: tuple[Claim, ...]
    choices: Choices
    deploys_prior: bool


def as_margins(margins: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return margins as float64 in [-1, 1], a list or one for each label, or None where there are none."""
    if margins is None or not np.size(margins):
        return None
    values = as_read_only(margins, np.float64)
    if values.ndim not in (1, 2):
        raise ShapeError(f"prior_margins must be one list, or one for each label; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise DomainError("prior_margins contains NaN or infinity; margins must be in [-1, 1].")
    if values.min() >= -1.0 and values.max() <= 1.0:
        return values
    return as_read_only(np.clip(values, -1.0, 1.0), np.float64)


def decide(situation: Situation, terms: Terms) -> Decision:
    """Compute the requested routes, use the best, and list the others as alternatives."""
    terms.check_classes(situation.classes, situation.prior.truth)
    terms.check_groups(situation.groups)
    terms.check_posterior(situation.has_posterior)
    candidates = candidate_names(terms.certificate, situation.margins is not None)
    several = situation.several_labels
    wanted = terms.wanted(situation.classes, several, situation.groups)
    paid = unions(terms, candidates, wanted)
    choices = Choices(terms.certificate, (), paid, candidates, terms.keep_prior or None)
    share = split_delta(terms.delta_per_prior, choices.n_shares)
    foresight = Foresight(
        situation.prior.n,
        share,
        situation.margins,
        terms.constant,
        situation.prior.distance,
        divergence=expected_divergence(terms.keep_prior),
        scores=situation.scores,
        max_error=terms.max_error,
        coverage=terms.coverage,
    )
    proposals = {name: propose(name, foresight, several) for name in candidates}
    rates = {name: situation.claim(proposals[name][-1], share).value for name in candidates}
    winner = min(candidates, key=lambda name: rates[name])
    claims = [situation.claim(proposal, share) for proposal in proposals[winner]]
    headline = proposals[winner][-1]
    for claimed in wanted.claims:
        part = wanted.delta_of(claimed.event, terms.delta_per_prior, choices.n_shares)
        claims.append(situation.claim(headline.beside(claimed, foresight), part, claimed.event))
    exact = replace(situation, sample=None)
    discarded = deploys_prior(winner) and situation.has_posterior
    proposed = others_than(winner, foresight, several, discarded=discarded)
    others = (exact.claim(each, terms.delta_per_prior) for offered in proposed.values() for each in offered)
    return Decision(
        tuple(claims),
        tuple(others),
        replace(choices, on_prior_rows=chosen_on_prior_rows(terms.certificate, foresight, several)),
        deploys_prior=deploys_prior(winner),
    )


def expected_divergence(keep_prior: bool) -> float:
    """Return the divergence for which settings are chosen.

    If it was decided that the prior is kept as the posterior, it is known beforehand that there is none. A
    posterior that was trained on the certified rows and happens to equal the prior is different: that is only
    known from these rows.
    """
    return 0.0 if keep_prior else EXPECTED_DIVERGENCE


def propose(name: str, foresight: Foresight, several_labels: bool = False) -> tuple[Proposal, ...]:
    """Return what a candidate proposes to claim, with the error rate last."""
    offers = candidates_of(several_labels)[name]
    votes = replace(foresight, of_votes=True)
    planned = (votes if offers[0].predictor == "prior's vote" else foresight).settings_of(
        ROUTES[offers[0].route]
    )
    return tuple(
        Proposal(
            *offer,
            planned
            if type(planned) is ROUTES[offer.route].settings_type
            else foresight.settings_of(ROUTES[offer.route]),
        )
        for offer in offers
    )


def candidate_names(certificate: str, has_prior_rows: bool) -> tuple[str, ...]:
    """Return the candidates that are considered."""
    if certificate != "auto":
        return (certificate,)
    return ("vote", "held-out") if has_prior_rows else ("seeger", "mixture")


def chosen_on_prior_rows(
    certificate: str, foresight: Foresight, several_labels: bool = False
) -> tuple[str, ...]:
    """Say what was chosen on the prior rows for a certificate."""
    placed: tuple[str, ...] = ()
    if foresight.scores is not None:
        route = ROUTES[SELECTIVE[ANSWERED_ERROR_RATE]]
        placed = route.chosen(foresight.settings_of(route))
    if not foresight.learned:
        return placed
    return placed + tuple(
        told
        for name in candidate_names(certificate, True)
        for proposal in propose(name, foresight, several_labels)[:1]
        for told in ROUTES[proposal.route].chosen(proposal.settings)
    )


def unions(terms: Terms, candidates: tuple[str, ...], wanted: Wanted) -> tuple[Union, ...]:
    """Return what delta is divided between."""
    paid = []
    if len(candidates) > 1:
        paid.append(Union(f"the certificate types considered ({' and '.join(candidates)})", len(candidates)))
    # What is counted of several labels over all rows is two claims; of a posterior both follow from one.
    counts_labels = wanted.several_labels and any(map(deploys_prior, candidates))
    paid += wanted.unions(2 if counts_labels else 1)
    if terms.sampled:
        paid.append(Union("the draws of the sampled risk, and the bound", 2))
    return tuple(paid)


def others_than(
    winner: str, foresight: Foresight, several_labels: bool = False, *, discarded: bool
) -> dict[str, tuple[Proposal, ...]]:
    """Return what the candidates that were not taken propose, by their names, in the order of a certificate.

    Where the prior is deployed and there was another posterior, the one they speak of is discarded.
    """
    # With one network and the fixed C the vote is the doubled mixture.
    names = [name for name in CANDIDATES if name != winner and (foresight.learned or name != "vote")]
    others = {name: propose(name, foresight, several_labels) for name in names}
    if not discarded:
        return others
    return {name: tuple(map(_discarded, proposals)) for name, proposals in others.items()}


def _discarded(proposal: Proposal) -> Proposal:
    if proposal.predictor.startswith("prior's"):
        return proposal
    return replace(proposal, predictor=f"discarded {proposal.predictor}")
