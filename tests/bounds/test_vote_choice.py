"""Choosing (T, k): as good as trying everything, quick, and only as good as what it was given."""

import dataclasses
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from pbgnet.bounds import (
    VoteChoice,
    catoni_grid,
    choose_vote,
    clopper_pearson_bound,
    vote_bound,
    vote_losses,
    vote_quantile,
)
from pbgnet.bounds.vote_choice import _loss_table, _shares, vote_grid
from pbgnet.exceptions import DomainError, ShapeError

VOTE_GRID = vote_grid()


def draw_margins(error_rate: float, saturation: float, size: int = 600, seed: int = 0) -> np.ndarray:
    """Margins of a network that errs as often as said; the larger the saturation, the nearer to -1 and 1."""
    z = np.random.default_rng(seed).normal(size=size) + stats.norm.isf(error_rate)
    return special.erf(saturation * z)


@pytest.mark.parametrize("mixture", [False, True])
@pytest.mark.parametrize(("saturation", "divergence"), [(0.5, 5.0), (3.0, 1.5), (50.0, 0.5)])
def test_nothing_among_all_votes_is_much_better(saturation, divergence, mixture):
    m, n, delta = draw_margins(0.02, saturation), 5000, 0.05
    choice = choose_vote(m, divergence, n, delta, mixture=mixture)
    for T in (*range(1, 7), 11, 17):
        for k in range(max(0, T // 2 - 2), min(T, T // 2 + 5)):
            risk = float(vote_losses(m, T, k).mean())
            c = catoni_grid(risk, T * divergence, n, delta) if mixture else None
            other = vote_bound(risk, divergence, n, delta, T, k, c)
            assert choice.expected_bound <= other * 1.01, (T, k)


def test_the_table_of_losses_stands_in_for_the_losses():
    m = draw_margins(0.03, 2.0)
    risks = _loss_table(VOTE_GRID) @ _shares((1.0 - m) / 2.0)
    exact = [vote_losses(m, *vote).mean() for vote in VOTE_GRID]
    np.testing.assert_allclose(risks, exact, rtol=0.0, atol=3e-5)
    assert risks[0] == pytest.approx(exact[0], rel=1e-12)  # the linear loss, exactly


@pytest.mark.parametrize("mixture", [False, True])
def test_between_two_candidates_the_better_one_wins(mixture):
    rng = np.random.default_rng(0)
    for seed in range(12):
        m = draw_margins(0.03, 10.0 ** rng.uniform(-0.5, 1.0), size=200, seed=seed)
        pair = [VOTE_GRID[i] for i in rng.choice(60, 2, replace=False)]
        alone = [choose_vote(m, 0.7, 3000, 0.05, mixture=mixture, candidates=[vote]) for vote in pair]
        best = choose_vote(m, 0.7, 3000, 0.05, mixture=mixture, candidates=pair)
        assert best.expected_bound <= 1.0001 * min(choice.expected_bound for choice in alone)


@pytest.mark.parametrize("distance", [Fraction(2, 3), Fraction(8, 15), Fraction(1, 5)])
def test_for_codes_nothing_among_all_votes_is_much_better(distance):
    m, n, delta, divergence = draw_margins(0.01, 3.0), 5000, 0.05, 0.5
    choice = choose_vote(m, divergence, n, delta, distance=distance)
    for T in (1, 2, 3, 5, 9, 17):
        for k in range(T):
            risk = float(vote_losses(m, T, k).mean())
            other = vote_bound(risk, divergence, n, delta, T, k, distance=distance)
            assert choice.expected_bound <= other * 1.02, (T, k)


@pytest.mark.parametrize("mixture", [False, True])
def test_the_expected_bound_is_that_of_the_choice(mixture):
    m = draw_margins(0.01, 5.0)
    choice = choose_vote(m, 1.0, 8000, 0.01, mixture=mixture)
    T, k = choice.n_networks, choice.n_right
    assert choice.expected_risk == pytest.approx(vote_losses(m, T, k).mean(), rel=1e-15)
    c = catoni_grid(choice.expected_risk, T * 1.0, 8000, 0.01) if mixture else None
    assert choice.expected_bound == vote_bound(choice.expected_risk, 1.0, 8000, 0.01, T, k, c)


def test_what_wins_where():
    """More networks where they cost nothing, fewer where each costs, one or two where they cost too much."""
    m = draw_margins(0.02, 3.0)
    chosen = [choose_vote(m, K, 2000, 0.05).n_networks for K in (0.0, 0.1, 1.0, 5.0, 60.0)]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] > 100
    assert chosen[-1] <= 2
    # Margins at -1 and 1: every threshold has the same loss, so q may be next to 1.
    saturated = choose_vote(np.repeat([1.0, -1.0], [990, 10]), 1.0, 5000, 0.05)
    assert saturated.n_right == saturated.n_networks - 1
    assert vote_quantile(saturated.n_networks, saturated.n_right) > 0.9


def test_without_divergence_it_comes_near_the_held_out_bound():
    """T K = 0, so T may be large, and the loss becomes the error itself."""
    m, n = draw_margins(0.02, 50.0, size=5000), 10_000
    choice = choose_vote(m, 0.0, n, 0.05, mixture=True)
    held_out = clopper_pearson_bound(round(np.mean(m <= 0.0) * n), n, 0.05)
    assert held_out < choice.expected_bound < 1.15 * held_out


@pytest.mark.parametrize("mixture", [False, True])
def test_an_infinite_divergence_leaves_the_factor_two(mixture):
    choice = choose_vote([0.5, 1.0], math.inf, 1000, 0.05, mixture=mixture)
    assert dataclasses.astuple(choice) == (1, 0, pytest.approx(0.125), 1.0)


def test_the_order_of_the_margins_does_not_matter():
    m = draw_margins(0.05, 2.0)
    first, second = choose_vote(m, 1.0, 1000, 0.05), choose_vote(np.sort(m), 1.0, 1000, 0.05)
    assert (first.n_networks, first.n_right) == (second.n_networks, second.n_right)


def test_only_the_candidates_are_compared():
    m = draw_margins(0.01, 5.0)
    assert dataclasses.astuple(choose_vote(m, 1.0, 5000, 0.05, candidates=[(1, 0)]))[:2] == (1, 0)
    choice = choose_vote(m, 1.0, 5000, 0.05, candidates=[(1, 0), (5000, 0), (4, 3)])
    assert (choice.n_networks, choice.n_right) == (4, 3)


def test_the_grid_holds_votes_worth_comparing():
    assert (1, 0) in VOTE_GRID
    assert len(set(VOTE_GRID)) == len(VOTE_GRID)
    assert all(0 <= k < T and vote_quantile(T, k) >= 0.5 for T, k in VOTE_GRID)


def test_it_is_quick():
    m = draw_margins(0.01, 5.0, size=5000)
    choose_vote(m, 1.0, 5000, 0.05)  # fills the table of losses
    start = time.process_time()
    choose_vote(m, 1.1, 5000, 0.05)
    assert time.process_time() - start < 1.0  # 0.03 s where nothing else runs


def test_a_choice_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        VoteChoice(3, 1, 0.1, 0.2).n_right = 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"margins": []}, ShapeError, "at least one number"),
        ({"margins": [[0.5]]}, ShapeError, "at least one number"),
        ({"margins": [1.5]}, DomainError, "margins must lie"),
        ({"margins": [math.nan]}, DomainError, "margins must lie"),
        ({"divergence": -1.0}, DomainError, "divergence must lie"),
        ({"divergence": [1.0, 2.0]}, ShapeError, "one number each"),
        ({"n": 0}, DomainError, "n must lie"),
        ({"delta": 1.0}, DomainError, "delta must lie"),
        ({"candidates": []}, DomainError, "at least one pair"),
        ({"candidates": [(3, 3)]}, DomainError, "n_right must lie"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    valid = {"margins": [0.5], "divergence": 1.0, "n": 100, "delta": 0.05}
    with pytest.raises(error, match=message):
        choose_vote(**{**valid, **change})
