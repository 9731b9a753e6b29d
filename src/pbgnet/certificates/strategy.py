"""From what was asked to what is claimed: the routes, the choice between them, and its price.

Everything that is chosen on the prior rows is free. Between two routes the certified rows may decide
if each is computed at half of delta: then both hold together, whichever is taken.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import catoni_grid, choose_vote, split_delta
from pbgnet.certificates.arguments import Argument, Situation
from pbgnet.certificates.claim import Choices, Claim, Settings, Union
from pbgnet.certificates.evaluation import Answers
from pbgnet.certificates.terms import Terms, check_class_size
from pbgnet.exceptions import DomainError, ShapeError

__all__ = [
    "CANDIDATES",
    "EXPECTED_DIVERGENCE",
    "FIXED_GRID",
    "Decision",
    "Plan",
    "as_margins",
    "candidate_names",
    "chosen_on_prior_rows",
    "decide",
    "other_arguments",
    "plan_settings",
    "unions",
]

# Divergence of a posterior from a trained prior that the settings are chosen for, in nats, fixed here
# because the posterior is trained on the certified rows. Measured on the paper's data: 0.1 to 2.
EXPECTED_DIVERGENCE = 1.0

# Trade-offs C of the mixture where there are no prior rows to choose them on. They belong to version 2 of
# the schema: `verify` would refuse others.
FIXED_GRID = tuple((2.0 ** np.arange(-6, 4)).tolist())

CANDIDATES: dict[str, tuple[tuple[str, str], ...]] = {
    "seeger": (("aggregate", "seeger"), ("vote", "doubled")),
    "mixture": (("aggregate", "catoni-mixture"), ("vote", "doubled")),
    "vote": (("vote", "vote"),),
    "held-out": (("prior's vote", "clopper-pearson"),),
    "held-out loss": (("prior's aggregate", "chernoff"),),
}
"""Predictors and routes of each candidate, that to the error rate last; the last is for comparison only."""


@dataclass(frozen=True)
class Plan:
    """What was fixed before the certified rows were looked at.

    Attributes
    ----------
    loss : Settings
        Of the mixture that bounds the linear loss.
    vote : Settings
        Of the route "vote".
    learned : bool
        Whether it was chosen on the prior rows, rather than fixed for all data.
    """

    loss: Settings
    vote: Settings
    learned: bool = False


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
    """Return margins as one list of float64 in [-1, 1], or None where there are none.

    Examples
    --------
    >>> from pbgnet.certificates.strategy import as_margins
    >>> as_margins([0.5, 1.0000001])
    array([0.5, 1. ])
    """
    if margins is None or not np.size(margins):
        return None
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1:
        raise ShapeError(f"prior_margins must be one list of margins, got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise DomainError("prior_margins holds NaN or infinity; margins lie in [-1, 1].")
    return np.clip(values, -1.0, 1.0)


def plan_settings(
    apart: Answers | None, n: int, delta: float, margins: NDArray[np.float64] | None = None
) -> Plan:
    """Choose C, T and k for n certified rows, with the prior's answers on the prior rows alone.

    Parameters
    ----------
    apart : Answers or None
        Of the prior on the prior rows; without them fixed settings are returned.
    n : int
        Number of certified rows.
    delta : float
        Share of delta of the bound to come.
    margins : ndarray, optional
        Margins `y G(x)` on prior rows that the prior was not trained on, to choose by instead.

    Notes
    -----
    Margins on rows that the prior was trained on are better than those to come; the choice is then
    not the best one, and as valid.
    """
    if apart is None:
        return Plan(Settings(c=FIXED_GRID), Settings(c=FIXED_GRID, n_networks=1, n_right=0))
    if margins is None:
        margins = apart.labels * apart.output
    margins = np.clip(margins, -1.0, 1.0)
    grid = catoni_grid(float(np.mean((1.0 - margins) / 2.0)), EXPECTED_DIVERGENCE, n, delta)
    options = [
        choose_vote(margins, EXPECTED_DIVERGENCE, n, delta, mixture=mixture) for mixture in (True, False)
    ]
    mixture = options[0].expected_bound <= options[1].expected_bound
    best = options[0] if mixture else options[1]
    vote = Settings(constant="maurer", n_networks=best.n_networks, n_right=best.n_right)
    if mixture:
        total = best.n_networks * EXPECTED_DIVERGENCE
        c = tuple(catoni_grid(best.expected_risk, total, n, delta).tolist())
        vote = Settings(c=c, n_networks=best.n_networks, n_right=best.n_right)
    return Plan(Settings(c=tuple(grid.tolist())), vote, learned=True)


def chosen_on_prior_rows(certificate: str, plan: Plan) -> tuple[str, ...]:
    """Say what of a plan a certificate rests on and was chosen on the prior rows."""
    if not plan.learned or certificate in ("seeger", "held-out"):
        return ()
    if certificate == "mixture":
        return (f"the {len(plan.loss.c or ())} trade-offs C of the mixture",)
    vote = plan.vote
    total, right = vote.n_networks, vote.n_right
    told = f"the number of networks in the vote, {total}, and that it is a loss if at most {right} are right"
    return (told,) if vote.c is None else (told, f"the {len(vote.c)} trade-offs C of its mixture")


def decide(situation: Situation, terms: Terms) -> Decision:
    """Compute the routes that were asked for, take the best, and set the others beside it."""
    _check_classes(situation, terms)
    candidates = candidate_names(terms.certificate, situation.apart is not None)
    paid = unions(terms, candidates, situation.classes)
    choices = Choices(terms.certificate, (), paid, candidates)
    share = split_delta(terms.delta_per_prior, choices.n_shares)
    plan = plan_settings(situation.apart, situation.prior.n, share, situation.margins)
    arguments = {name: _arguments(name, plan, terms.constant) for name in candidates}
    rates = {name: arguments[name][-1].claim(situation, share).value for name in candidates}
    winner = min(candidates, key=lambda name: rates[name])
    claims = [argument.claim(situation, share) for argument in arguments[winner]]
    if terms.class_conditional:
        headline = arguments[winner][-1]
        claims += [headline.claim(situation, share, label) for label in situation.classes]
    others = other_arguments(winner, plan, terms.constant)
    return Decision(
        tuple(claims),
        tuple(argument.claim(situation.exact(), terms.delta_per_prior) for argument in others),
        replace(choices, on_prior_rows=chosen_on_prior_rows(terms.certificate, plan)),
        deploys_prior=winner == "held-out",
    )


def candidate_names(certificate: str, has_prior_rows: bool) -> tuple[str, ...]:
    """Return the routes that are looked at.

    Examples
    --------
    >>> from pbgnet.certificates.strategy import candidate_names
    >>> candidate_names("auto", True), candidate_names("auto", False)
    (('vote', 'held-out'), ('seeger', 'mixture'))
    """
    if certificate != "auto":
        return (certificate,)
    return ("vote", "held-out") if has_prior_rows else ("seeger", "mixture")


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


def _arguments(name: str, plan: Plan, constant: str) -> tuple[Argument, ...]:
    """Return the arguments of a candidate, that about the error rate last."""
    settings = {"seeger": Settings(constant=str(constant)), "mixture": plan.loss, "vote": plan.vote}
    return tuple(
        Argument(predictor, route, settings.get(name, Settings())) for predictor, route in CANDIDATES[name]
    )


def other_arguments(winner: str, plan: Plan, constant: str) -> tuple[Argument, ...]:
    """Return the arguments of the routes that were not taken, in the order of a certificate.

    Where the prior is deployed, the posterior they speak of is not kept.

    Examples
    --------
    >>> from pbgnet.certificates.strategy import other_arguments, plan_settings
    >>> fixed = plan_settings(None, 100, 0.05)
    >>> [argument.route for argument in other_arguments("seeger", fixed, "maurer")]
    ['catoni-mixture', 'doubled', 'clopper-pearson', 'chernoff']
    """
    # With one network and the fixed C the vote is the doubled mixture.
    names = [name for name in CANDIDATES if name != winner and (plan.learned or name != "vote")]
    others = [argument for name in names for argument in _arguments(name, plan, constant)]
    if winner != "held-out":
        return tuple(others)
    return tuple(
        argument
        if argument.predictor.startswith("prior's")
        else replace(argument, predictor=f"discarded {argument.predictor}")
        for argument in others
    )


def _check_classes(situation: Situation, terms: Terms) -> None:
    if not terms.class_conditional:
        return
    for label, sign in zip(situation.classes, (-1.0, 1.0), strict=True):
        check_class_size(label, int(np.sum(situation.prior.labels == sign)))
