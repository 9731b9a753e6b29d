"""The betting bound: never below its formula, the same for every order, and tighter than Chernoff."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext
from scipy import special

from pbgnet.bounds import betting, betting_bound, betting_grid, chernoff_bound, clopper_pearson_bound
from pbgnet.exceptions import DomainError, DtypeError, ShapeError

BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324

deltas = st.one_of(
    st.floats(1e-12, 1.0, exclude_max=True), st.sampled_from([SMALLEST, 1e-300, 0.05, 0.5, BELOW_ONE])
)
any_loss = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-60.0, 0.0).map(lambda e: 2.0**e),
    st.floats(-53.0, 0.0).map(lambda e: 1.0 - 2.0**e),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, SMALLEST, BELOW_ONE]),
)
loss_lists = st.lists(any_loss, min_size=1, max_size=30)
shares = st.one_of(
    st.floats(1e-3, 1.0),
    st.floats(-40.0, 0.0).map(lambda e: 2.0**e),
    st.floats(-53.0, -1.0).map(lambda e: 1.0 - 2.0**e),
    st.just(1.0),
)
mixtures = st.lists(st.tuples(shares, st.floats(1e-6, 1.0)), min_size=1, max_size=4).map(
    lambda pairs: (
        np.array([c for c, _ in pairs]),
        np.array([w for _, w in pairs]) / math.fsum(w for _, w in pairs),
    )
)
BETS = np.array([0.2, 0.5, 0.9])


def examples(count: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=count)


@pytest.fixture(scope="session")
def log_capital():
    """Logarithm of the capital at m in 400 bits."""
    context = MPContext()
    context.prec = 400
    mpf = context.mpf

    def value(m, losses, bets, weights):
        total = context.zero
        for c, w in zip(map(float, bets), map(float, weights), strict=True):
            stakes = ((1 - mpf(c)) + mpf(c) * (1 - mpf(loss)) / (1 - mpf(m)) for loss in map(float, losses))
            total += mpf(w) * context.fprod(stakes)
        return context.log(total / context.fsum(map(float, weights))) if total else -context.inf

    def budget(delta):
        return -context.log(mpf(delta))

    return value, budget


# ----- never below the formula --------------------------------------------------------------------


@examples(150)
@given(losses=loss_lists, delta=deltas, mixture=mixtures)
def test_the_bound_is_outward(log_capital, losses, delta, mixture):
    value, budget = log_capital
    bound = betting_bound(losses, delta, *mixture)
    assert type(bound) is float
    assert math.fsum(losses) / len(losses) * (1.0 - 2.0**-50) <= bound <= 1.0
    assert bound == 1.0 or value(bound, losses, *mixture) >= budget(delta)


@examples(100)
@given(
    losses=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    delta=st.floats(1e-9, 0.9),
    bets=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=4),
)
def test_the_bound_is_tight(log_capital, losses, delta, bets):
    value, budget = log_capital
    bound = betting_bound(losses, delta, bets)
    weights = np.full(len(bets), 1.0 / len(bets))
    assert value(bound * (1.0 - 1e-10), losses, bets, weights) < budget(delta)


@pytest.mark.parametrize("law", [(2, 8), (0.05, 0.05), (0.01, 3)])
def test_outward_and_tight_over_several_chunks(log_capital, law):
    """More distinct losses than are added in one go, at both ends of the unit interval."""
    value, budget = log_capital
    losses = np.random.default_rng(0).beta(*law, 20_000)
    bound = betting_bound(losses, 0.05, [0.03, 0.4])
    assert value(bound, losses, [0.03, 0.4], [0.5, 0.5]) >= budget(0.05)
    assert value(bound * (1.0 - 1e-11), losses, [0.03, 0.4], [0.5, 0.5]) < budget(0.05)


@pytest.mark.parametrize("seed", range(8))
def test_the_capital_is_never_overstated(log_capital, seed):
    """Where the losses on both sides of m balance, the rounding of the terms is all that is left."""
    value, _ = log_capital
    rng = np.random.default_rng(seed)
    losses, bet = np.sort(rng.beta(0.5, 0.5, 3000)), rng.uniform(0.5, 1.0)
    balanced = betting_bound(losses, 0.999, bet)
    surplus = [
        betting._log_wealth(m, losses, np.ones(3000), [bet], [0.0]) - value(m, losses, [bet], [1.0])
        for m in balanced * (1.0 + rng.uniform(-1e-12, 1e-12, 5))
    ]
    assert min(surplus) > -1e-9
    assert max(surplus) <= 0.0


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-12, 1e-300])
def test_losses_of_nothing_have_a_closed_form(n, delta):
    truth = -math.expm1(math.log(delta) / n)  # 1 - delta^(1/n)
    assert betting_bound(np.zeros(n), delta, 1.0) == pytest.approx(truth, rel=1e-12, abs=0.0)
    # A bet of 0.9 among three costs its weight and a tenth of the distance, at most.
    mixed = betting_bound(np.zeros(n), delta, BETS)
    assert truth <= mixed <= -math.expm1(math.log(delta / 3.0) / n) / 0.9


def test_one_bet_on_zeros_and_ones_is_chernoff():
    """The best bet in hindsight wins n kl(L || m) nats, and no other more."""
    for errors, n in ((3, 50), (200, 1000)):
        losses = np.arange(n) < errors
        limit = float(chernoff_bound(errors / n, n, 0.05))
        best = (limit - errors / n) / limit
        assert betting_bound(losses * 1.0, 0.05, best) == pytest.approx(limit, rel=1e-11)
        others = [betting_bound(losses * 1.0, 0.05, c) for c in np.linspace(0.01, 0.99, 30)]
        assert min(others) >= limit * (1.0 - 1e-12)
        assert limit >= clopper_pearson_bound(errors, n, 0.05)


def test_what_says_nothing_is_one():
    assert betting_bound(np.ones(100), 0.05, BETS) == 1.0
    assert betting_bound([0.0], SMALLEST, 1e-300) == 1.0
    assert betting_bound([0.0, 1.0], 0.05, 1.0) == 1.0  # all was staked and lost


@examples(60)
@given(losses=loss_lists, delta=st.floats(1e-12, 0.9), mixture=mixtures)
def test_between_the_best_of_its_parts_and_a_union_over_them(losses, delta, mixture):
    value = betting_bound(losses, delta, *mixture)
    parts = [betting_bound(losses, delta, c) for c in mixture[0]]
    union = [betting_bound(losses, delta * w, c) for c, w in zip(*mixture, strict=True)]
    assert value >= min(parts) * (1.0 - 1e-10)
    # The rounding that is granted is absolute in nats, and so is worth the more the smaller the bets are.
    assert value <= min(union) * (1.0 + 1e-10) + 1e-12 / mixture[0].min()


# ----- order --------------------------------------------------------------------------------------


@examples(60)
@given(losses=loss_lists, seed=st.integers(0, 2**32 - 1), delta=deltas, mixture=mixtures)
def test_the_order_of_the_rows_does_not_change_a_bit(losses, seed, delta, mixture):
    shuffled = np.random.default_rng(seed).permutation(losses)
    assert betting_bound(shuffled, delta, *mixture) == betting_bound(losses, delta, *mixture)


def test_the_order_of_many_rows_does_not_change_a_bit():
    losses = np.random.default_rng(1).beta(2, 8, 50_000)
    value = betting_bound(losses, 0.05, BETS)
    assert betting_bound(losses[::-1], 0.05, BETS) == value
    assert betting_bound(np.random.default_rng(2).permutation(losses), 0.05, BETS) == value


@examples(60)
@given(losses=loss_lists, row=st.integers(0, 29), raised=any_loss, delta=deltas, mixture=mixtures)
def test_a_larger_loss_never_lowers_the_bound(losses, row, raised, delta, mixture):
    larger = list(losses)
    larger[row % len(losses)] = max(raised, losses[row % len(losses)])
    before, after = betting_bound(losses, delta, *mixture), betting_bound(larger, delta, *mixture)
    assert after >= before * (1.0 - 1e-10) - 1e-12 / mixture[0].min()


def test_a_smaller_delta_never_lowers_the_bound():
    losses = np.random.default_rng(3).beta(2, 8, 300)
    deltas = [*(10.0 ** np.linspace(-300.0, -1.0, 60)), 0.5, 0.9]
    bounds = [betting_bound(losses, delta, BETS) for delta in deltas]
    assert (np.diff(bounds) <= 1e-13).all()
    assert bounds[0] - bounds[-1] > 0.1


def test_weights_default_to_equal_ones_and_are_divided_by_their_sum():
    losses = np.linspace(0.0, 0.4, 60)
    value = betting_bound(losses, 0.05, BETS)
    assert betting_bound(losses, 0.05, BETS, np.full(3, 1 / 3)) == pytest.approx(value, rel=1e-12)
    for scale in (1.0 - 5e-10, 1.0 + 5e-10):
        scaled = betting_bound(losses, 0.05, BETS, np.full(3, scale / 3))
        assert scaled == pytest.approx(value, rel=1e-12)
    assert betting_bound(losses, 0.05, BETS, [0.1, 0.1, 0.8]) < value  # the largest bet suits them best


def test_an_error_of_the_losses_is_added_to_each():
    losses = np.array([0.0, 0.1, 0.25, 0.999, 1.0] * 20)
    value = betting_bound(losses, 0.05, BETS)
    assert betting_bound(losses, 0.05, BETS, numerical_error=0.0) == value
    raised = betting_bound(losses, 0.05, BETS, numerical_error=0.01)
    assert raised >= betting_bound(np.minimum(losses + 0.01, 1.0), 0.05, BETS) > value
    assert raised == pytest.approx(betting_bound(np.minimum(losses + 0.01, 1.0), 0.05, BETS), rel=1e-12)
    assert betting_bound(losses, 0.05, BETS, numerical_error=math.inf) == 1.0


@pytest.mark.parametrize("error", [SMALLEST, 1e-300, 1e-17, 1e-3])
def test_losses_are_raised_by_no_less_than_the_error(monkeypatch, error):
    """The bound itself is rounded up by more than the sum of a loss and an error is rounded."""
    losses, raised = [0.0, SMALLEST, 1e-17, 0.1, 0.25, 0.3, BELOW_ONE, 1.0], []
    monkeypatch.setattr(betting, "_counted", lambda losses: raised.extend(losses.tolist()) or ())
    monkeypatch.setattr(betting, "_root", lambda *_: 0.0)
    betting_bound(losses, 0.05, BETS, numerical_error=error)
    for before, after in zip(losses, raised, strict=True):
        assert min(Fraction(before) + Fraction(error), 1) <= Fraction(after) <= 1


@pytest.mark.parametrize("convert", [list, np.array, torch.tensor, lambda x: np.array(x, dtype=np.float32)])
def test_every_kind_of_array_is_taken(convert):
    losses, bets = [0.25, 0.5, 0.125], [0.5, 0.25]
    assert betting_bound(convert(losses), 0.5, convert(bets)) == betting_bound(losses, 0.5, bets)
    assert betting_bound([0, 1, 0], 0.5, 0.25) == betting_bound([0.0, 1.0, 0.0], 0.5, [0.25], [1.0])


# ----- the grid -----------------------------------------------------------------------------------


def network_losses(rng: np.random.Generator, n: int) -> np.ndarray:
    """Linear losses as a trained network has them: most near 0, some rows near the border."""
    return (1.0 - special.erf(0.5 * (rng.standard_normal(n) + 2.51))) / 2.0


LAWS = {
    "beta(2, 8)": (lambda rng, n: rng.beta(2, 8, n), 0.2, 0.45),
    "uniform": (lambda rng, n: rng.random(n), 0.5, 0.75),
    "network": (network_losses, 0.07374, 0.5),
    "zero or one": (lambda rng, n: (rng.random(n) < 0.3) * 1.0, 0.3, 1.15),
}


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize(("draw", "mean", "share"), LAWS.values(), ids=LAWS.keys())
def test_distance_from_the_mean_against_chernoff(draw, mean, share, n):
    """Averaged over samples, with a grid from 500 other rows."""
    rng = np.random.default_rng(4)
    samples = [draw(rng, n) for _ in range(20)]
    grid = betting_grid(draw(rng, 500), n, 0.05)
    betting = np.mean([betting_bound(losses, 0.05, grid) for losses in samples]) - mean
    chernoff = np.mean(chernoff_bound([losses.mean() for losses in samples], n, 0.05)) - mean
    assert 0.0 < betting < share * chernoff
    without_rows = betting_grid(None, n, 0.05)
    wide = np.mean([betting_bound(losses, 0.05, without_rows) for losses in samples]) - mean
    assert betting < wide < 1.25 * betting


def test_the_grid_surrounds_the_best_bet():
    losses = np.random.default_rng(5).beta(2, 8, 5000)
    grid = betting_grid(losses, 5000, 0.05, size=3, factor=2.0)
    np.testing.assert_allclose(grid[1:] / grid[:-1], 2.0)
    low, best, high = (betting_bound(losses, 0.05, c) for c in grid)
    assert best < min(low, high)
    assert betting_grid(losses, 1000, 0.05, factor=3.0)[-1] == 1.0  # no farther
    # The grid is for the n to come, not for the rows at hand.
    assert betting_grid(losses, 100_000, 0.05, size=1) < grid[0]


@pytest.mark.parametrize("losses", [None, [0.0], [1.0], np.zeros(50), np.ones(50), [0.3] * 7, [0.0, 1.0]])
@pytest.mark.parametrize("n", [1, 3, 100, 10**6, 10**12])
@pytest.mark.parametrize("delta", [SMALLEST, 1e-9, 0.05, 0.99, BELOW_ONE])
def test_every_grid_can_be_used(losses, n, delta):
    grid = betting_grid(losses, n, delta)
    assert (np.diff(grid) >= 0.0).all()
    assert 0.0 < betting_bound([0.0, 0.1], 0.05, grid) <= 1.0


def test_the_grid_leaves_room_for_a_large_loss_that_was_not_seen():
    losses = np.append(np.full(999, 0.01), 1.0)
    (bet,) = betting_grid(np.full(1000, 0.01), 1000, 0.05, size=1)
    assert bet < 0.9
    assert betting_bound(losses, 0.05, bet) < 0.8 * chernoff_bound(losses.mean(), 1000, 0.05)
    assert betting_bound(losses, 0.05, 1.0) == 1.0


# ----- bad input ----------------------------------------------------------------------------------

VALID = {"losses": [0.1, 0.2], "delta": 0.05, "bets": BETS}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"losses": [0.1, 1.1]}, DomainError, r"losses must lie in \[0, 1\], got 1\.1"),
        ({"losses": [0.1, -SMALLEST]}, DomainError, "losses must lie"),
        ({"losses": [0.1, math.nan]}, DomainError, "losses must lie"),
        ({"losses": []}, ShapeError, "at least one loss"),
        ({"losses": 0.1}, ShapeError, "list of at least one loss"),
        ({"losses": [[0.1, 0.2]]}, ShapeError, "list of at least one loss"),
        ({"losses": [True, False]}, DtypeError, "losses must hold real numbers"),
        ({"losses": torch.tensor([0.1], requires_grad=True)}, DtypeError, "losses requires a gradient"),
        ({"delta": 0.0}, DomainError, "delta must lie"),
        ({"delta": 1.0}, DomainError, "delta must lie"),
        ({"delta": [0.05, 0.1]}, ShapeError, "delta must be one number"),
        ({"bets": [0.5, 0.0]}, DomainError, r"bets must lie in \(0, 1\]"),
        ({"bets": [0.5, 1.0 + 2.0**-52]}, DomainError, "bets must lie"),
        ({"bets": math.nan}, DomainError, "bets must lie"),
        ({"bets": []}, ShapeError, "at least one share"),
        ({"bets": [[0.5, 0.7]]}, ShapeError, "list of at least one share"),
        ({"bets": "0.5"}, DtypeError, "bets must hold"),
        ({"weights": [0.5, 0.5]}, ShapeError, "one entry for each of the 3 bets"),
        ({"weights": [[0.2, 0.3, 0.5]]}, ShapeError, "one entry for each"),
        ({"weights": [0.5, 0.5, 0.5]}, DomainError, r"sum to 1, got 1\.5"),
        ({"weights": [0.5, 0.5, 0.0]}, DomainError, "weights must lie"),
        ({"weights": [math.nan] * 3}, DomainError, "weights must lie"),
        ({"numerical_error": -1e-9}, DomainError, "numerical_error must lie"),
        ({"numerical_error": math.nan}, DomainError, "numerical_error must lie"),
        ({"numerical_error": [0.1, 0.1]}, ShapeError, "numerical_error must be one number"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        betting_bound(**{**VALID, **change})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"losses": [1.5]}, DomainError, "losses must lie"),
        ({"losses": []}, ShapeError, "at least one loss"),
        ({"n": 0}, DomainError, "n must be at least 1"),
        ({"n": 10.0}, DtypeError, "n must be a whole number"),
        ({"delta": 1.0}, DomainError, "delta must lie"),
        ({"size": 0}, DomainError, "size must be at least 1"),
        ({"factor": 0.9}, DomainError, "factor must be at least 1"),
        ({"factor": math.inf}, DomainError, "factor must be positive and finite"),
    ],
)
def test_bad_grids_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        betting_grid(**{"losses": [0.1], "n": 100, "delta": 0.05, **change})
