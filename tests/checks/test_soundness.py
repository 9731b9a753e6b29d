"""Certificates hold as often as they say in worlds whose truth is known, and a broken one is noticed."""

import re
from functools import partial

import numpy as np
import pytest
from checks.soundness import COUNTED_COINS, count_wrong, main, worst_coins
from checks.subjects import SUBJECTS, Issued, Oracle, Subject, best_of_five, disagreement
from checks.worlds import WORLDS

from pbgnet.certificates import ROUTES, certify

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("kind", WORLDS)
def test_the_truth_of_a_world_is_what_many_draws_give(kind):
    rng = np.random.default_rng(0)
    world = WORLDS[kind](rng)
    oracle = Oracle(world, rng)
    X, y = world.draw(50_000, rng)
    wrong = oracle.predict(X) != y
    assert abs(wrong.mean() - world.mean(oracle.wrong)) < 0.012
    assert abs(wrong[y == 0].mean() - world.mean(oracle.wrong, 0)) < 0.03
    for name in ("linear", "brier"):
        drawn = oracle.losses(name)[world.places(X), y]
        assert abs(drawn.mean() - world.mean(oracle.losses(name))) < 0.012


def test_nothing_is_wrong_more_often_than_it_says(capsys):
    assert main(["--worlds", "12"]) == 0
    printed = capsys.readouterr().out
    assert all(route in printed for route in COUNTED_COINS)
    assert all(f"{name}: all worlds" in printed for name in SUBJECTS)
    counts = [int(count) for count in re.findall(r"(\d+) of \d+ wrong", printed)]
    assert sum(counts) > 30, "bounds are close enough to the truth for some to be wrong"


# Twice a bound is far from attained, whatever delta is.
@pytest.mark.parametrize("route", sorted(set(COUNTED_COINS) - {"doubled"}))
def test_a_route_that_spends_ten_times_its_delta_is_noticed(monkeypatch, route):
    assert max(rate for _, rate in worst_coins(200, 0.05, [route])) <= 0.05
    for name in ("evidence", "value"):
        genuine = getattr(type(ROUTES[route]), name)

        def inward(self, measured, settings, delta, genuine=genuine):
            return genuine(self, measured, settings, 10 * delta)

        monkeypatch.setattr(type(ROUTES[route]), name, inward)
    assert max(rate for _, rate in worst_coins(200, 0.05, [route])) > 0.05


def test_a_doubled_bound_that_is_not_doubled_is_noticed(monkeypatch):
    route = type(ROUTES["doubled"])
    genuine = route.value
    assert max(rate for _, rate in worst_coins(200, 0.3, ["doubled"])) <= 0.3
    monkeypatch.setattr(route, "value", lambda *given: genuine(*given) / 2)
    assert max(rate for _, rate in worst_coins(200, 0.3, ["doubled"])) > 0.3


def test_a_whole_certificate_that_is_inward_is_noticed(monkeypatch):
    counter = type(ROUTES["clopper-pearson"])
    genuine = counter.value
    monkeypatch.setattr(counter, "value", lambda self, e, s, delta: genuine(self, e, s, 10 * delta))
    tallies = count_wrong(SUBJECTS["classifier"], 25, confidence=0.95)
    assert not tallies[-1].ok


def made_from_its_rows(world, rng, confidence):
    """A classifier that answers the likeliest label of each point among the very rows."""
    oracle, (X, y) = Oracle(world, rng), world.draw(world.n, rng)
    counts = np.zeros_like(world.labels)
    np.add.at(counts, (world.places(X), y), 1.0)
    oracle.table = (counts + 0.01) / (counts + 0.01).sum(axis=1, keepdims=True)
    return Issued(certify(oracle, X, y, confidence).certificate, oracle.truth)


def without_the_disagreement(world, rng, confidence):
    """The bound of the vote, taken for one of the other classifier."""
    issued = disagreement(world, rng, confidence)
    bound = issued.certificate.subject.reference.claim.value
    slack = issued.certificate.error_rate.value - bound
    return Issued(issued.certificate, lambda claim: issued.truth(claim) + slack)


@pytest.mark.parametrize(
    "issue",
    [partial(best_of_five, n_models=1), made_from_its_rows, without_the_disagreement],
    ids=["a choice that is not paid for", "rows that were seen", "a disagreement that is left out"],
)
def test_what_breaks_the_proof_is_noticed(issue):
    subject = Subject(issue, only_two=issue is without_the_disagreement)
    assert not all(tally.ok for tally in count_wrong(subject, 25, confidence=0.8))
