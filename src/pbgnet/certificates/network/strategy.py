"""From what was asked to what is claimed: the routes, the choice between them, and its price.

Everything that is chosen on the prior rows is free. Between two routes the certified rows may decide
if each is computed at half of delta: then both hold together, whichever is taken.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.format import Choices, Union
from pbgnet.certificates.network.evaluation import Answers
from pbgnet.certificates.network.terms import Terms, check_class_size
from pbgnet.certificates.routes import (
    CANDIDATES,
    ROUTES,
    Claim,
    Foresight,
    Measured,
    Sample,
    Settings,
    make_claim,
)
from pbgnet.exceptions import DomainError, ShapeError


@dataclass(frozen=True, eq=False)
class Situation:
    """What networks answer, on the rows that matter.

    Attributes
    ----------
    posterior, prior : Answers
        On the certified rows; the same object where the posterior is the prior.
    classes : pair of str
        The labels that -1 and 1 stand for, as Python writes them.
    margins : ndarray or None
        Of the prior on prior rows, to choose settings by; None where there are none to learn from.
    sample : Sample or None
        The posterior's risk from draws, where it is to be certified so.
    """

    posterior: Answers
    prior: Answers
    classes: tuple[str, ...]
    margins: NDArray[np.float64] | None = None
    sample: Sample | None = None

    @property
    def has_posterior(self) -> bool:
        """Whether there is a posterior besides the prior: an ensemble has none."""
        return self.posterior is not self.prior

    def answers(self, predictor: str, given_class: str | None = None) -> Answers:
        """Return what a predictor answers on the certified rows, or on those of one class."""
        answers = self.prior if predictor.startswith("prior's") else self.posterior
        if given_class is None:
            return answers
        return answers.of_class((-1.0, 1.0)[self.classes.index(given_class)])

    def measured(self, predictor: str, given_class: str | None = None, *, exact: bool = False) -> Measured:
        """Return the same as routes look at it; without the draws where it is to be exact."""
        measured = self.answers(predictor, given_class).measured
        return measured if exact else replace(measured, sample=self.sample)

    def claim(self, proposed: "Proposal", delta: float, given_class: str | None = None) -> Claim:
        """Make a claim at a share of delta."""
        measured = self.measured(proposed.predictor, given_class)
        return make_claim(
            proposed.predictor,
            proposed.route,
            measured,
            proposed.settings,
            delta=delta,
            given_class=given_class,
        )


@dataclass(frozen=True)
class Proposal:
    """A route, the predictor it speaks of, and what it was told beforehand."""

    predictor: str
    route: str
    settings: Settings


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
    """Return margins as one list of float64 in [-1, 1], or None where there are none."""
    if margins is None or not np.size(margins):
        return None
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1:
        raise ShapeError(f"prior_margins must be one list of margins, got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise DomainError("prior_margins holds NaN or infinity; margins lie in [-1, 1].")
    return np.clip(values, -1.0, 1.0)


def decide(situation: Situation, terms: Terms) -> Decision:
    """Compute the routes that were asked for, take the best, and set the others beside it."""
    _check_classes(situation, terms)
    candidates = candidate_names(terms.certificate, situation.margins is not None)
    choices = Choices(terms.certificate, (), unions(terms, candidates, situation.classes), candidates)
    share = split_delta(terms.delta_per_prior, choices.n_shares)
    foresight = Foresight(situation.prior.n, share, situation.margins, terms.constant)
    proposals = {name: propose(name, foresight) for name in candidates}
    rates = {name: situation.claim(proposals[name][-1], share).value for name in candidates}
    winner = min(candidates, key=lambda name: rates[name])
    claims = [situation.claim(proposal, share) for proposal in proposals[winner]]
    if terms.class_conditional:
        headline = proposals[winner][-1]
        claims += [situation.claim(headline, share, label) for label in situation.classes]
    exact = replace(situation, sample=None)
    proposed = others_than(winner, foresight, discarded=winner == "held-out" and situation.has_posterior)
    others = (exact.claim(proposal, terms.delta_per_prior) for proposal in proposed)
    return Decision(
        tuple(claims),
        tuple(others),
        replace(choices, on_prior_rows=chosen_on_prior_rows(terms.certificate, foresight)),
        deploys_prior=winner == "held-out",
    )


def propose(name: str, foresight: Foresight) -> tuple[Proposal, ...]:
    """Return what a candidate proposes to claim, that about the error rate last."""
    settings = foresight.settings_of(ROUTES[CANDIDATES[name][0][1]])
    return tuple(Proposal(predictor, route, settings) for predictor, route in CANDIDATES[name])


def candidate_names(certificate: str, has_prior_rows: bool) -> tuple[str, ...]:
    """Return the candidates that are looked at."""
    if certificate != "auto":
        return (certificate,)
    return ("vote", "held-out") if has_prior_rows else ("seeger", "mixture")


def chosen_on_prior_rows(certificate: str, foresight: Foresight) -> tuple[str, ...]:
    """Say what a certificate rests on and was chosen on the prior rows."""
    if not foresight.learned:
        return ()
    return tuple(
        told
        for name in candidate_names(certificate, True)
        for told in ROUTES[CANDIDATES[name][0][1]].chosen(propose(name, foresight)[0].settings)
    )


def unions(terms: Terms, candidates: tuple[str, ...], classes: tuple[str, ...]) -> tuple[Union, ...]:
    """Return what delta is divided for."""
    paid = []
    if len(candidates) > 1:
        paid.append(Union(f"the routes looked at ({' and '.join(candidates)})", len(candidates)))
    if terms.class_conditional:
        paid.append(Union("the error rate over all rows and that of each class", 1 + len(classes)))
    if terms.sampled:
        paid.append(Union("the draws of the sampled risk and the bound", 2))
    return tuple(paid)


def others_than(winner: str, foresight: Foresight, *, discarded: bool) -> tuple[Proposal, ...]:
    """Return the proposals that were not taken, in the order of a certificate.

    Where the prior is deployed and there was another posterior, the one they speak of is discarded.
    """
    # With one network and the fixed C the vote is the doubled mixture.
    names = [name for name in CANDIDATES if name != winner and (foresight.learned or name != "vote")]
    others = [proposal for name in names for proposal in propose(name, foresight)]
    if not discarded:
        return tuple(others)
    return tuple(
        proposal
        if proposal.predictor.startswith("prior's")
        else replace(proposal, predictor=f"discarded {proposal.predictor}")
        for proposal in others
    )


def _check_classes(situation: Situation, terms: Terms) -> None:
    if not terms.class_conditional:
        return
    for label, sign in zip(situation.classes, (-1.0, 1.0), strict=True):
        check_class_size(label, int(np.sum(situation.prior.labels == sign)))
