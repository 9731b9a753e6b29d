"""Arguments: routes with their settings, and the claims they make of what a network answers."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.claim import ROUTES, Claim, Evidence, Settings
from pbgnet.certificates.evaluation import Answers
from pbgnet.certificates.routes import claim_value

__all__ = ["Argument", "Sample", "Situation", "argument_of", "gather", "with_value"]


@dataclass(frozen=True)
class Sample:
    """An empirical linear risk that was estimated from independent draws.

    Attributes
    ----------
    risk : float
    n_draws : int
    """

    risk: float
    n_draws: int


@dataclass(frozen=True, eq=False)
class Situation:
    """What networks answer, on the rows that matter.

    Attributes
    ----------
    posterior, prior : Answers
        On the certified rows.
    apart : Answers or None
        Of the prior on the prior rows; None where there are none.
    classes : pair of str
        The labels that -1 and 1 stand for, as Python writes them.
    sample : Sample or None
        The posterior's risk from draws, where it is to be certified so.
    margins : ndarray or None
        Margins on prior rows that the prior was not trained on, where there were such.
    """

    posterior: Answers
    prior: Answers
    apart: Answers | None
    classes: tuple[str, str]
    sample: Sample | None = None
    margins: NDArray[np.float64] | None = None

    def exact(self) -> "Situation":
        """Return the same without draws."""
        return replace(self, sample=None)

    def answers(self, predictor: str, given_class: str | None = None) -> Answers:
        """Return what a predictor answers on the certified rows, or on those of one class."""
        answers = self.prior if predictor.startswith("prior's") else self.posterior
        if given_class is None:
            return answers
        return answers.of_class((-1.0, 1.0)[self.classes.index(given_class)])


@dataclass(frozen=True)
class Argument:
    """A route, the predictor it speaks of, and what it was told beforehand."""

    predictor: str
    route: str
    settings: Settings = Settings()  # noqa: RUF009 (it is frozen)

    def claim(self, situation: Situation, delta: float, given_class: str | None = None) -> Claim:
        """Make the claim, at a share of delta."""
        evidence = gather(self, situation, delta, given_class)
        quantity, _ = ROUTES[self.route]
        return with_value(
            Claim(quantity, self.predictor, self.route, 1.0, delta, evidence, self.settings, given_class)
        )


def gather(
    argument: Argument, situation: Situation, delta: float, given_class: str | None = None
) -> Evidence:
    """Collect what an argument needs from the answers on the certified rows."""
    answers = situation.answers(argument.predictor, given_class)
    if argument.route == "clopper-pearson":
        n_errors = answers.evaluation().n_errors
        return Evidence(answers.n, n_errors / answers.n, n_errors=n_errors)
    if argument.route == "vote":
        assert argument.settings.n_networks is not None
        assert argument.settings.n_right is not None
        risk, error = answers.vote_risk(argument.settings.n_networks, argument.settings.n_right)
    else:
        risk, error = answers.linear_risk()
    if argument.route == "chernoff":
        return Evidence(answers.n, risk, error)
    margin_error = answers.error if argument.route in ("vote", "doubled") else 0.0
    evidence = Evidence(answers.n, risk, error, margin_error, divergence=answers.divergence)
    if situation.sample is None:
        return evidence
    sample = situation.sample
    return replace(evidence, empirical_risk=sample.risk, n_draws=sample.n_draws, sampling_delta=delta)


def argument_of(claim: Claim) -> Argument:
    """Return the argument behind a claim."""
    return Argument(claim.predictor, claim.route, claim.settings)


def with_value(claim: Claim) -> Claim:
    """Return a claim with the value that its evidence gives."""
    return replace(claim, value=claim_value(claim))
