"""The tests that every route must pass; needs pytest (``pip install pbgnet[test]``).

Derive a test class, and pytest runs the suite on the new route::

    from pbgnet.certificates.routes.conformance import RouteConformance


    class TestMyRoute(RouteConformance):
        def make(self):
            return MyRoute()

        def slack(self, value, evidence, settings, delta): ...

It simulates data with known risks and counts how often the bound is wrong. It compares the bound, rounded
outward, with the exact one (`slack`), and checks that it grows with the loss and with the confidence, that
settings are chosen without the certified rows, and that a claim survives JSON and can be recomputed from it.
A route for a posterior is tested with the posterior that does best on the rows for its distance from the
prior; a route for a predictor that was fixed beforehand is tested with the prior.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from pbgnet.certificates.routes.base import ACCURACY, COUNTED, Foresight, Route
from pbgnet.certificates.routes.claim import Claim, make_claim
from pbgnet.certificates.routes.clopper_pearson import CountEvidence
from pbgnet.certificates.routes.measured import Measured
from pbgnet.certificates.routes.registry import ROUTES
from pbgnet.exceptions import DomainError
from pbgnet.records import parse_json

DELTA = 0.2
"""Low confidence, so that failures can be counted."""

PRIOR = np.array([1.5, 0.0])
OTHER = np.array([1.0, 1.2])
POSTERIORS = [PRIOR + step for step in 0.8 * np.array([[i, j] for i in (-1, 0, 1, 2) for j in (-1, 0, 1)])]


@dataclass(frozen=True)
class World:
    """Points of the plane with labels, some of them flipped at random; a linear network answers on them.

    Attributes
    ----------
    noise : float
        Share of labels that are flipped.
    scale : float
        Scale of the weights: large ones give losses of 0 and 1, small ones losses in between.
    """

    noise: float
    scale: float

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw rows of length 1 and their labels, -1 and 1."""
        angles = rng.uniform(0.0, 2.0 * np.pi, n)
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        labels = np.where(rows @ np.array([1.0, 0.4]) > 0, 1.0, -1.0)
        return rows, np.where(rng.random(n) < self.noise, -labels, labels)

    def outputs(self, weight: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the aggregate of the linear network (paper, Eq. 4)."""
        return np.asarray(special.erf(self.scale * (rows @ weight) / np.sqrt(2.0)))

    def measure(
        self, weight: NDArray[np.float64], rows: NDArray[np.float64], labels: NDArray[np.float64]
    ) -> Measured:
        """Return what a route may use, for a network whose prior is `PRIOR`."""
        margins = labels * self.outputs(weight, rows)
        distance = self.scale * (weight - PRIOR)
        return Measured(
            wrong=margins <= 0,
            losses=(1.0 - margins) / 2.0,
            margins=margins,
            divergence=float(distance @ distance) / 2.0,
        )

    def compare(
        self, rows: NDArray[np.float64], labels: NDArray[np.float64], bound: float | None
    ) -> Measured:
        """Return the same for another network, where it differs from the vote of the prior."""
        differ = self.outputs(PRIOR, rows) * self.outputs(OTHER, rows) <= 0
        return replace(self.measure(OTHER, rows, labels), wrong=differ, reference_bound=bound)


WORLDS = [World(0.02, 6.0), World(0.15, 0.8), World(0.4, 2.0)]


class RouteConformance(ABC):
    """Conformance suite for one route; see the module."""

    n_rows: int = 40
    n_repetitions: int = 150
    tightness: float = 1e-5
    """How much larger than the exact bound the bound may be, relatively, because of rounding."""

    @abstractmethod
    def make(self) -> Route:
        """Return the route under test."""

    @abstractmethod
    def slack(self, value: float, evidence: Any, settings: Any, delta: float) -> Any:
        """Return, in high precision, by how much a value exceeds what the evidence proves.

        Any function of the value that grows with it and is 0 at the exact bound, such as
        ``n * kl(risk, value) - log(1 / delta)``.
        """

    def foresee(self, world: World, n: int, delta: float, rng: np.random.Generator) -> Foresight:
        """Return what the prior rows say."""
        rows, labels = world.draw(60, rng)
        return Foresight(n, delta, labels * world.outputs(PRIOR, rows))

    def plan(self, foresight: Foresight) -> Any:
        """Plan the settings; a route that uses those of another overrides this."""
        return self.make().plan(foresight)

    def measure(self, world: World, n: int, rng: np.random.Generator, weight: Any = PRIOR) -> Measured:
        """Measure what the route bounds on rows drawn."""
        rows, labels = world.draw(n, rng)
        if self.make().name == "disagreement":
            return world.compare(rows, labels, 0.1)
        return world.measure(weight, rows, labels)

    def bound(self, measured: Measured, settings: Any, delta: float) -> float:
        """Return the bound from what was measured."""
        route = self.make()
        return route.value(route.evidence(measured, settings, delta), settings, delta)

    # ----- validity --------------------------------------------------------------------------------

    @pytest.mark.statistical
    @pytest.mark.parametrize("world", WORLDS, ids=str)
    def test_it_fails_no_more_often_than_it_says(self, world: World) -> None:
        """Simulate: the share of wrong bounds is at most delta, up to chance at one in 1000."""
        rng, route = np.random.default_rng(1), self.make()
        truths = self._truths(world)
        settings = self.plan(self.foresee(world, self.n_rows, DELTA, rng))
        wrong = 0
        for _ in range(self.n_repetitions):
            rows, labels = world.draw(self.n_rows, rng)
            if route.name == "disagreement":
                best, measured = 0, world.compare(rows, labels, truths[-1])
            else:
                found = [world.measure(weight, rows, labels) for weight in self._posteriors()]
                best = int(np.argmin([_promise(each) for each in found]))
                measured = found[best]
            wrong += self.bound(measured, settings, DELTA) < truths[best]
        assert wrong <= stats.binom.ppf(0.999, self.n_repetitions, DELTA)

    def _posteriors(self) -> list[NDArray[np.float64]]:
        """Return the predictors between which the certified rows may decide."""
        return POSTERIORS if {"vote", "aggregate"} & set(self.make().predictors) else [PRIOR]

    def _truths(self, world: World) -> list[float]:
        """Return the true risk of each; for a disagreement that of the other, and then that of the vote."""
        rows, labels = world.draw(200_000, np.random.default_rng(99))
        if self.make().name == "disagreement":
            return [float(np.mean(world.measure(w, rows, labels).wrong)) for w in (OTHER, PRIOR)]
        measured = [world.measure(weight, rows, labels) for weight in self._posteriors()]
        if self.make().quantity in COUNTED:
            right = self.make().quantity == ACCURACY
            return [float(np.mean(each.wrong != right)) for each in measured]
        return [each.mean_loss()[0] for each in measured]

    # ----- the number ------------------------------------------------------------------------------

    @pytest.mark.parametrize("delta", [1e-6, 0.05, 0.5])
    @pytest.mark.parametrize("n", [1, 40, 1000])
    def test_it_is_rounded_outward_and_tight(self, n: int, delta: float) -> None:
        """Never below the exact bound, and above it only by rounding."""
        rng, route = np.random.default_rng(n), self.make()
        for world in WORLDS:
            settings = self.plan(self.foresee(world, n, delta, rng))
            for weight in self._posteriors()[:3]:
                evidence = route.evidence(self.measure(world, n, rng, weight), settings, delta)
                value = route.value(evidence, settings, delta)
                assert 0.0 <= value <= 1.0
                if value < 1.0:
                    assert self.slack(value, evidence, settings, delta) >= 0
                assert self.slack(value * (1 - self.tightness), evidence, settings, delta) < 0

    def test_it_grows_with_the_loss(self) -> None:
        """One more row that is wrong, or more of it, never makes the bound smaller; for accuracy, right."""
        rng = np.random.default_rng(2)
        for world in WORLDS:
            settings = self.plan(self.foresee(world, self.n_rows, DELTA, rng))
            measured = self.measure(world, self.n_rows, rng)
            before = self.bound(measured, settings, DELTA)
            for row in range(0, self.n_rows, 7):
                measured = _worse(measured, row, wrong=self.make().quantity != ACCURACY)
                after = self.bound(measured, settings, DELTA)
                assert after >= before * (1 - 1e-12)
                before = after

    def test_it_grows_with_the_confidence_and_shrinks_with_proved_exactness(self) -> None:
        """A smaller delta, and a larger numerical error, never make the bound smaller."""
        rng, world = np.random.default_rng(3), WORLDS[1]
        settings = self.plan(self.foresee(world, self.n_rows, DELTA, rng))
        measured = self.measure(world, self.n_rows, rng)
        bounds = [self.bound(measured, settings, delta) for delta in (0.5, 0.2, 0.05, 1e-3, 1e-9)]
        assert bounds == sorted(bounds)
        rough = replace(measured, loss_error=1e-3, margin_error=2e-3)
        assert self.bound(rough, settings, DELTA) >= self.bound(measured, settings, DELTA)

    def test_the_order_of_the_rows_does_not_matter(self) -> None:
        """To the last bit."""
        rng, world = np.random.default_rng(4), WORLDS[1]
        settings = self.plan(self.foresee(world, self.n_rows, DELTA, rng))
        measured = self.measure(world, self.n_rows, rng)
        turned = measured.among(rng.permutation(self.n_rows))
        assert self.bound(turned, settings, DELTA) == self.bound(measured, settings, DELTA)

    # ----- what it is told, and what it tells ------------------------------------------------------

    def test_settings_are_chosen_without_the_certified_rows(self) -> None:
        """A plan is the same before and after rows were seen, and a bound is computed with it only."""
        rng, world, route = np.random.default_rng(5), WORLDS[2], self.make()
        foresight = self.foresee(world, self.n_rows, DELTA, rng)
        before = self.plan(foresight)
        first, second = (self.measure(world, self.n_rows, rng) for _ in range(2))
        value = self.bound(first, before, DELTA)
        route.value(route.evidence(second, before, DELTA), before, DELTA)
        assert self.plan(foresight) == before
        assert self.bound(first, before, DELTA) == value

    @pytest.mark.parametrize("learned", [True, False])
    def test_a_claim_survives_json_and_is_recomputed(self, learned: bool) -> None:
        """Read back, it is the same; its value follows from it, and a smaller value does not."""
        rng, world, route = np.random.default_rng(6), WORLDS[1], self.make()
        foresight = self.foresee(world, self.n_rows, DELTA, rng)
        if not learned:
            foresight = Foresight(self.n_rows, DELTA)
        settings, measured = self.plan(foresight), self.measure(world, self.n_rows, rng)
        claim = make_claim(route.predictors[0], route.name, measured, settings, delta=DELTA)
        again = Claim.from_dict(parse_json(json.dumps(claim.to_dict())))
        assert again == claim == again.recomputed()
        assert replace(again, value=claim.value * (1 - 1e-6)).recomputed().value == claim.value
        assert type(again.evidence) is route.evidence_type

    def test_it_is_registered_and_has_words(self) -> None:
        """The registry has it under its name, and it can describe itself."""
        route = self.make()
        assert type(ROUTES[route.name]) is type(route)
        assert route.summary
        assert not route.summary.endswith(".")
        for foresight in (Foresight(50, 0.05), self.foresee(WORLDS[0], 50, 0.05, np.random.default_rng(7))):
            assert route.words(self.plan(foresight))

    def test_it_refuses_what_was_not_measured(self) -> None:
        """A count is not enough for a route that needs losses or margins."""
        route, settings = self.make(), self.plan(Foresight(5, DELTA))
        measured = Measured(np.zeros(5, dtype=bool))
        if route.evidence_type is CountEvidence:
            assert route.evidence(measured, settings, DELTA).n == 5
        else:
            with pytest.raises(DomainError, match=r"measured|needs"):
                route.evidence(measured, settings, DELTA)


def _worse(measured: Measured, row: int, wrong: bool) -> Measured:
    """Return the same with one row as wrong, or as right, as possible."""
    assert measured.losses is not None
    assert measured.margins is not None
    errors, losses, margins = measured.wrong.copy(), measured.losses.copy(), measured.margins.copy()
    errors[row], losses[row], margins[row] = wrong, float(wrong), 1.0 - 2.0 * wrong
    return replace(measured, wrong=errors, losses=losses, margins=margins)


def _promise(measured: Measured) -> float:
    """Return the approximate PAC-Bayes bound: small where a posterior looks best on the rows."""
    return measured.mean_loss()[0] + float(np.sqrt((measured.divergence or 0.0) / (2 * measured.n)))
