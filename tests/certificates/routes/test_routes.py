"""Every route passes the conformance suite, and routes that are broken on purpose do not."""

import functools
import math

import mpmath
import numpy as np
import pytest

from pbgnet.bounds import vote_quantile
from pbgnet.certificates.routes import ROUTES, SELECTIVE, Foresight, Measured
from pbgnet.certificates.routes.betting import Betting
from pbgnet.certificates.routes.catoni_mixture import CatoniMixture
from pbgnet.certificates.routes.chernoff import Chernoff
from pbgnet.certificates.routes.clopper_pearson import ClopperPearson, ClopperPearsonLower, CountEvidence
from pbgnet.certificates.routes.conformance import WORLDS, RouteConformance
from pbgnet.certificates.routes.disagreement import Disagreement
from pbgnet.certificates.routes.doubled import Doubled
from pbgnet.certificates.routes.pac_bayes import LossSettings
from pbgnet.certificates.routes.seeger import Seeger
from pbgnet.certificates.routes.vote import Vote

mp = mpmath.MPContext()
mp.prec = 160


def kl(q, p):
    """Binary kl in high precision."""
    q, p = mp.mpf(q), mp.mpf(p)
    parts = [(q, p), (1 - q, 1 - p)]
    if any(a > 0 and b <= 0 for a, b in parts):
        return mp.inf
    return mp.fsum(a * mp.log(a / b) for a, b in parts if a > 0)


@functools.cache
def xi(n):
    """Maurer's constant."""
    logs = [mp.loggamma(k + 1) - (k * mp.log(k) if k else 0) for k in range(n + 1)]
    return mp.fsum(mp.exp(logs[n] - logs[k] - logs[n - k]) for k in range(n + 1))


def loss_slack(value, risk, divergence, n, settings, delta):
    """By how much a value is more than the kl theorem, or the mixture, proves."""
    budget = mp.mpf(divergence) - mp.log(mp.mpf(delta))
    if settings.c is None:
        return (n * kl(risk, value) - budget - mp.log(xi(n))) if value > risk else mp.mpf(-1)
    weights = settings.weights or [1.0] * len(settings.c)
    terms = [
        w * mp.exp(-n * (mp.log1p(-mp.mpf(value) * -mp.expm1(-mp.mpf(c))) + mp.mpf(c) * mp.mpf(risk)))
        for c, w in zip(settings.c, weights, strict=True)
    ]
    return mp.log(mp.fsum(terms) / mp.fsum(weights)) - budget


class TestSeeger(RouteConformance):
    def make(self):
        return Seeger()

    def slack(self, value, evidence, settings, delta):
        return loss_slack(value, evidence.empirical_risk, evidence.divergence, evidence.n, settings, delta)


class TestPapersConstant(TestSeeger):
    def plan(self, foresight):
        return LossSettings(constant="paper")

    def slack(self, value, evidence, settings, delta):
        budget = mp.mpf(evidence.divergence) + mp.log(2 * mp.sqrt(evidence.n) / mp.mpf(delta))
        above = value > evidence.empirical_risk
        return evidence.n * kl(evidence.empirical_risk, value) - budget if above else mp.mpf(-1)


class TestCatoniMixture(TestSeeger):
    tightness = 1e-4  # it ends where the next step of a search would not matter

    def make(self):
        return CatoniMixture()


class TestDoubled(TestSeeger):
    def make(self):
        return Doubled()

    def plan(self, foresight):
        return Seeger().plan(foresight)

    def slack(self, value, evidence, settings, delta):
        return super().slack(value / 2, evidence, settings, delta)


class TestDoubledMixture(TestDoubled):
    tightness = 1e-4

    def plan(self, foresight):
        return CatoniMixture().plan(foresight)


@functools.cache
def quantile(T, k):
    """Chance of at most k heads in T tosses."""
    q = mp.mpf(sum(math.comb(T, j) for j in range(k + 1))) / mp.mpf(2) ** T
    assert float(q) == pytest.approx(vote_quantile(T, k))
    return q


class TestVote(RouteConformance):
    tightness = 1e-4

    def make(self):
        return Vote()

    def slack(self, value, evidence, settings, delta):
        T, loss = settings.n_networks, mp.mpf(value) * quantile(settings.n_networks, settings.n_right)
        return loss_slack(loss, evidence.empirical_risk, T * evidence.divergence, evidence.n, settings, delta)


class TestClopperPearson(RouteConformance):
    def make(self):
        return ClopperPearson()

    def slack(self, value, evidence, settings, delta):
        p, n = mp.mpf(value), evidence.n
        below = mp.fsum(mp.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(evidence.n_errors + 1))
        return mp.mpf(delta) - below


class TestClopperPearsonLower(TestClopperPearson):
    def make(self):
        return ClopperPearsonLower()

    def slack(self, value, evidence, settings, delta):
        right = CountEvidence(evidence.n, evidence.n - evidence.n_errors)
        return super().slack(value, right, settings, delta)

    def test_only_sure_errors_count(self):
        """A row that may be right on some computer is no error of a lower limit."""
        wrong, sure = np.array([True, True, False]), np.array([True, False, False])
        measured = Measured(wrong, surely_wrong=sure)
        both = [route.evidence(measured, None, 0.1) for route in (ClopperPearson(), self.make())]
        assert [each.n_errors for each in both] == [2, 1]


class TestChernoff(RouteConformance):
    def make(self):
        return Chernoff()

    def slack(self, value, evidence, settings, delta):
        above = value > evidence.empirical_risk
        return evidence.n * kl(evidence.empirical_risk, value) + mp.log(delta) if above else mp.mpf(-1)


class TestBetting(RouteConformance):
    def make(self):
        return Betting()

    def slack(self, value, evidence, settings, delta):
        """The evidence holds no losses: those of the rows just measured are taken."""
        m, terms = mp.mpf(value), [mp.mpf(1)] * len(settings.bets)
        for j, bet in enumerate(settings.bets):
            c = mp.mpf(bet)
            terms[j] = mp.fprod(1 - c + c * (1 - mp.mpf(loss)) / (1 - m) for loss in self.losses.tolist())
        return mp.log(mp.fsum(terms) / len(terms)) + mp.log(delta)

    def measure(self, *given):
        measured = super().measure(*given)
        self.losses = measured.losses
        return measured


class TestDisagreement(TestClopperPearson):
    def make(self):
        return Disagreement()

    def slack(self, value, evidence, settings, delta):
        rest = mp.mpf(value) - mp.mpf(evidence.reference_bound)
        return super().slack(rest, evidence, settings, delta) if rest > 0 else mp.mpf(-1)


def test_every_route_has_its_class_here():
    elsewhere = {type(ROUTES[name]) for name in SELECTIVE.values()}  # test_selection
    classes = [each for name, each in globals().items() if name.startswith("Test")]
    assert {type(each().make()) for each in classes} == {type(route) for route in ROUTES.values()} - elsewhere


# ----- broken on purpose --------------------------------------------------------------------------


class Broken(RouteConformance):
    """The suite of a route's own test class, run on another route; pytest does not collect it."""

    def __init__(self, suite, route):
        self.suite, self.route = suite(), route
        self.suite.make = lambda: route

    def make(self):
        return self.route

    def slack(self, *given):
        return self.suite.slack(*given)

    def fails(self, name, *arguments):
        with pytest.raises(AssertionError):
            getattr(self.suite, name)(*arguments)


class TooSmall(ClopperPearson):
    def value(self, evidence, settings, delta):
        return max(0.0, super().value(evidence, settings, delta) - 1e-9)


class RoundedInward(Chernoff):
    def value(self, evidence, settings, delta):
        return float(np.floor(super().value(evidence, settings, delta) * 2.0**40) / 2.0**40)


class RemembersRows(CatoniMixture):
    """Tunes its trade-offs to the rows it is to certify, and plans by them from then on."""

    seen = None

    def plan(self, foresight):
        if self.seen is None:
            return super().plan(foresight)
        return super().plan(Foresight(foresight.n, foresight.delta, self.seen))

    def evidence(self, measured, settings, delta):
        self.seen = measured.margins
        return super().evidence(measured, settings, delta)


class LooksTwice(ClopperPearson):
    """Leaves out the rows that look wrong before it counts."""

    def evidence(self, measured, settings, delta):
        kept = np.ones(measured.n, dtype=bool)
        kept[np.flatnonzero(measured.wrong)[: measured.n_errors // 2 + 1]] = False
        return super().evidence(measured.among(kept), settings, delta)


class ForgetsTheMargin(Chernoff):
    def evidence(self, measured, settings, delta):
        first = measured.among(np.arange(measured.n) < measured.n - 1)
        return super().evidence(first, settings, delta)


def test_the_suite_notices_broken_routes():
    for n, delta in ((40, 0.05), (1000, 0.5)):
        Broken(TestClopperPearson, TooSmall()).fails("test_it_is_rounded_outward_and_tight", n, delta)
        Broken(TestChernoff, RoundedInward()).fails("test_it_is_rounded_outward_and_tight", n, delta)
    remembers = Broken(TestCatoniMixture, RemembersRows())
    remembers.fails("test_settings_are_chosen_without_the_certified_rows")
    Broken(TestClopperPearson, LooksTwice()).fails("test_it_fails_no_more_often_than_it_says", WORLDS[2])
    forgets = Broken(TestChernoff, ForgetsTheMargin())
    forgets.fails("test_the_order_of_the_rows_does_not_matter")
