"""What is certified in a world, and its truth; a new kind of certificate is a function and a line.

Each function draws the rows it needs, certifies, and returns what was claimed beside what is true.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from checks.worlds import Floats, World
from pbgnet.certificates import (
    Certificate,
    Claim,
    PriorRecord,
    certifiable,
    certify,
    certify_by_disagreement,
    certify_network,
    evaluate,
)
from pbgnet.estimators import PBGNetClassifier
from pbgnet.networks import TWO_CLASSES, AggregatedNetwork, initial_weights


@dataclass(frozen=True)
class Issued:
    """A certificate, and the true value of what a claim of it bounds."""

    certificate: Certificate
    truth: Callable[[Claim], float]


@dataclass(frozen=True)
class Subject:
    """Something to certify.

    Attributes
    ----------
    issue : callable
        From a world, a generator and a confidence.
    only_two : bool
        Whether it is for two classes only.
    slow : bool
        Whether a certificate takes more than a tenth of a second: fewer are made.
    """

    issue: Callable[[World, np.random.Generator, float], Issued]
    only_two: bool = False
    slow: bool = False


# ----- classifiers -----------------------------------------------------------------------------------


class Oracle:
    """A classifier that gives each point of a world probabilities of its own, fixed beforehand.

    `skill` is the share of them that is true.
    """

    def __init__(self, world: World, rng: np.random.Generator, skill: float = 0.7) -> None:
        drawn = rng.dirichlet(np.ones(world.n_classes), world.shares.size)
        table = skill * world.labels + (1.0 - skill) * drawn
        self.world, self.table = world, table / table.sum(axis=1, keepdims=True)
        self.classes_ = np.arange(world.n_classes)

    def predict_proba(self, X: Floats) -> Floats:  # noqa: N803
        """Look the probabilities up."""
        return self.table[self.world.places(X)]

    def predict(self, X: Floats) -> Any:  # noqa: N803
        """Answer with the likeliest label."""
        return self.predict_proba(X).argmax(axis=1)

    @property
    def wrong(self) -> Floats:
        """1 for each point and label where the answer is another, 0 elsewhere."""
        return 1.0 - np.eye(self.world.n_classes)[self.table.argmax(axis=1)]

    def losses(self, quantity: str) -> Floats:
        """Return the loss that a quantity names, of each point and label."""
        if "brier" not in quantity:
            return 1.0 - self.table
        one = np.eye(self.world.n_classes)
        return ((self.table[:, None, :] - one) ** 2).sum(axis=2) / 2.0

    def truth(self, claim: Claim) -> float:
        """Return the true value of what a claim bounds."""
        given = None if claim.given_class is None else int(claim.given_class)
        group = None if claim.group is None else int(claim.group)
        counted = {"error rate": self.wrong, "accuracy": 1.0 - self.wrong}
        values = counted[claim.quantity] if claim.quantity in counted else self.losses(claim.quantity)
        return self.world.mean(values, given, group)


def one_classifier(world: World, rng: np.random.Generator, confidence: float, **options: Any) -> Issued:
    """Count the errors of a classifier, with what else is asked for."""
    oracle = Oracle(world, rng)
    certified = certify(oracle, *world.draw(world.n, rng), confidence, **options)
    return Issued(certified.certificate, oracle.truth)


def by_group(world: World, rng: np.random.Generator, confidence: float, **options: Any) -> Issued:
    """Count the errors of a classifier in each group of rows, from above and from below."""
    oracle, (rows, labels) = Oracle(world, rng), world.draw(world.n, rng)
    certified = certify(oracle, rows, labels, confidence, groups=world.groups(rows), **options)
    return Issued(certified.certificate, oracle.truth)


def best_of_five(world: World, rng: np.random.Generator, confidence: float, n_models: int = 5) -> Issued:
    """Take the classifier that has the smallest bound on the rows, which pays for five."""
    oracles = [Oracle(world, rng, skill=0.0) for _ in range(5)]
    rows = world.draw(world.n, rng)
    certified = [certify(oracle, *rows, confidence, n_models=n_models) for oracle in oracles]
    best = min(range(5), key=lambda k: certified[k].certificate.error_rate.value)
    return Issued(certified[best].certificate, oracles[best].truth)


# ----- networks --------------------------------------------------------------------------------------


def draw_network(
    rng: np.random.Generator,
    world: World,
    rows: tuple[Floats, Any] | None,
    hidden: tuple[int, ...] = (),
    members: int | None = None,
) -> AggregatedNetwork:
    """Draw a prior, and depart from it to what is best on rows for its distance, where there are any."""
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    leading = () if members is None else (members,)
    prior = [
        rng.choice([1.0, 4.0]) * weight
        for weight in initial_weights(3, hidden, generator=generator, replicas=leading, dtype=torch.float64)
    ]
    make = partial(AggregatedNetwork, members=members is not None)
    found = make(prior, prior)
    if rows is None:
        return found
    candidates = [found]
    for _ in range(6):
        step = [0.4 * torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in prior]
        candidates.append(make([w + s for w, s in zip(prior, step, strict=True)], prior))
    places = np.asarray(rows[1]).astype(int)
    answers = [evaluate(certifiable(network), rows[0], places, TWO_CLASSES) for network in candidates]
    promises = [each.risk + np.sqrt(each.divergence / (2 * each.n)) for each in answers]
    return candidates[int(np.argmin(promises))]


def true_margins(network: AggregatedNetwork, world: World) -> Floats:
    """Return `y G(x)` of each point and label."""
    points = np.column_stack([world.points, np.full(len(world.points), 1.5e-12)])
    output = evaluate(certifiable(network), points, np.ones(len(points), dtype=int), TWO_CLASSES).output
    return np.stack([-output, output], axis=1)


def vote_risk(network: AggregatedNetwork, world: World) -> float:
    """Return the error rate of the vote of a network."""
    return world.mean(1.0 * (true_margins(network, world) <= 0))


def network_truth(network: AggregatedNetwork, world: World, claim: Claim) -> float:
    """Return the true value of what a claim bounds, of the posterior or of the prior."""
    if "prior's" in claim.predictor:
        members = network.architecture.n_members is not None
        network = AggregatedNetwork(network.prior_weights, network.prior_weights, members=members)
    margins = true_margins(network, world)
    given = None if claim.given_class is None else int(claim.given_class)
    values = (1.0 - margins) / 2.0 if claim.predictor.endswith("aggregate") else 1.0 * (margins <= 0)
    return world.mean(values, given)


def network(
    world: World, rng: np.random.Generator, confidence: float, hidden: tuple[int, ...] = (), n_apart: int = 0,
    members: int | None = None, **options: Any,
) -> Issued:  # fmt: skip
    """Certify a posterior that was chosen on the certified rows; the prior never saw them."""
    rows = world.draw(world.n, rng)
    posterior = draw_network(rng, world, rows, hidden, members)
    table = [np.concatenate(parts) for parts in zip(world.draw(n_apart, rng), rows, strict=True)]
    certified = certify_network(
        posterior, *table, classes=(0, 1), prior=PriorRecord("given", n_rows=n_apart), confidence=confidence,
        prior_rows=range(n_apart), certified_rows=range(n_apart, n_apart + world.n), **options,
    )  # fmt: skip
    return Issued(certified.certificate, partial(network_truth, posterior, world))


def ensemble(world: World, rng: np.random.Generator, confidence: float) -> Issued:
    """Fit the default classifier, in short, with everything it chooses on the rows it sets apart."""
    rows, labels = world.draw(2 * world.n, rng)
    labels[:2] = (0, 1)  # a classifier needs two classes, and may be given what it likes to train on
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points of a world repeat themselves, and may be few
        fitted = PBGNetClassifier(
            (3,), n_members=2, max_epochs=3, confidence=confidence, random_state=int(rng.integers(2**31))
        ).fit(rows[:, :2], labels, prior_rows=range(world.n))
        answers = fitted.predict(world.points)
    wrong = np.stack([answers != 0, answers != 1], axis=1)
    return Issued(fitted.certificate_, lambda claim: world.mean(1.0 * wrong))


def disagreement(world: World, rng: np.random.Generator, confidence: float) -> Issued:
    """Certify a poor classifier through its disagreement with a better vote, on rows without labels."""
    votes = [draw_network(rng, world, None) for _ in range(5)]
    best = min(votes, key=lambda each: vote_risk(each, world))
    vote = certify_network(
        best, *world.draw(world.n, rng), classes=(0, 1), prior=PriorRecord("given"),
        prior_rows=[], certified_rows=range(world.n), confidence=confidence, certificate="held-out",
    )  # fmt: skip
    oracle = Oracle(world, rng, skill=0.3)
    shipped = certify_by_disagreement(vote, oracle, world.draw(world.n, rng)[0])
    return Issued(shipped.certificate, oracle.truth)


SUBJECTS: dict[str, Subject] = {
    "classifier": Subject(one_classifier),
    "classifier, by class": Subject(partial(one_classifier, class_conditional=True)),
    "classifier, linear loss": Subject(partial(one_classifier, loss="linear")),
    "classifier, by class, brier loss": Subject(
        partial(one_classifier, class_conditional=True, loss="brier")
    ),
    "classifier, by group": Subject(by_group),
    "classifier, by group and class": Subject(partial(by_group, class_conditional=True)),
    "best of five classifiers": Subject(best_of_five),
    "disagreement with a vote": Subject(disagreement, only_two=True, slow=True),
    "ensemble": Subject(ensemble, only_two=True, slow=True),
    "members, seeger": Subject(partial(network, certificate="seeger", members=3), only_two=True, slow=True),
    "members, vote": Subject(
        partial(network, certificate="vote", members=3, hidden=(2,), n_apart=20), only_two=True, slow=True
    ),
    "network, seeger": Subject(partial(network, certificate="seeger"), only_two=True, slow=True),
    "network, mixture by class": Subject(
        partial(network, certificate="mixture", class_conditional=True), only_two=True, slow=True
    ),
    "network, sampled": Subject(
        partial(network, hidden=(3,), aggregation="monte_carlo", n_samples=5, seed=1),
        only_two=True,
        slow=True,
    ),
    "network, vote": Subject(partial(network, certificate="vote", n_apart=20), only_two=True, slow=True),
    "network, auto": Subject(partial(network, certificate="auto", n_apart=20), only_two=True, slow=True),
    "network, held-out by class": Subject(
        partial(network, certificate="held-out", class_conditional=True, n_apart=20),
        only_two=True,
        slow=True,
    ),
}
