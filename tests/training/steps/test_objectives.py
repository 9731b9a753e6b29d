"""Objectives: values are the bounds, slopes are their derivatives."""

import pytest
import torch

from pbgnet.bounds import catoni_bound, catoni_optimal, seeger_bound, tree_divergence
from pbgnet.training.steps.objectives import Catoni, FixedTradeOff, LinearLoss, Seeger

PRIOR = [torch.zeros(2, 3, 4), torch.zeros(2, 1, 3)]
LOSS = torch.tensor([0.1, 0.3], dtype=torch.float64)
PENALTY = torch.tensor([20.0, 5.0], dtype=torch.float64)


def objectives():
    log_c = torch.tensor([0.0, 1.0], dtype=torch.float64)
    return [
        LinearLoss(PRIOR, torch.tensor([0.0, 0.1], dtype=torch.float64)),
        Seeger(PRIOR, 500, 0.05),
        FixedTradeOff(PRIOR, 500, 0.05, torch.tensor([1.0, 2.0], dtype=torch.float64)),
        Catoni(PRIOR, 500, 0.05, log_c),
    ]


@pytest.mark.parametrize("objective", objectives(), ids=lambda o: type(o).__name__)
def test_slopes_are_the_partial_derivatives(objective):
    slopes = objective.slopes(LOSS, PENALTY)
    step = 1e-5
    in_loss = (objective.value(LOSS + step, PENALTY) - objective.value(LOSS - step, PENALTY)) / (2 * step)
    in_penalty = (objective.value(LOSS, PENALTY + step) - objective.value(LOSS, PENALTY - step)) / (2 * step)
    torch.testing.assert_close(slopes.by_loss, in_loss.detach(), rtol=1e-5, atol=1e-9)
    torch.testing.assert_close(slopes.by_penalty, in_penalty.detach(), rtol=1e-5, atol=1e-9)


def test_seeger_is_the_certified_bound():
    for constant in ("paper", "maurer"):
        value = Seeger(PRIOR, 500, 0.05, constant).value(LOSS, PENALTY)
        expected = torch.from_numpy(seeger_bound(LOSS, PENALTY, 500, 0.05, constant))
        torch.testing.assert_close(value, expected, rtol=0, atol=1e-11)


def test_catoni_reaches_the_same_bound_at_its_best_c():
    best = catoni_optimal(LOSS, PENALTY, 500, 0.05, "maurer")
    objective = Catoni(PRIOR, 500, 0.05, torch.from_numpy(best.c).log())
    value = objective.value(LOSS, PENALTY)
    torch.testing.assert_close(value, torch.from_numpy(best.bound), rtol=0, atol=1e-11)
    assert objective.slopes(LOSS, PENALTY).by_learned[0].abs().max() < 1e-6


def test_fixed_trade_off_orders_posteriors_as_catonis_bound_does():
    c = torch.tensor([2.0, 2.0], dtype=torch.float64)
    values = FixedTradeOff(PRIOR, 500, 0.05, c).value(LOSS, PENALTY)
    bounds = catoni_bound(LOSS, PENALTY, 500, 0.05, 2.0)
    assert (values[0] < values[1]) == (bounds[0] < bounds[1])


def test_penalties():
    weights = [torch.ones(2, 3, 4), torch.ones(2, 1, 3)]
    assert LinearLoss.of(weights, torch.zeros(2)).penalty(weights).tolist() == [7.5, 7.5]
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 5, 4), (2, 3, 6), (2, 1, 3)]
    weights, prior = ([torch.randn(s, generator=generator) for s in shapes] for _ in range(2))
    torch.testing.assert_close(Seeger(prior, 500, 0.05).penalty(weights), tree_divergence(weights, prior))


def test_the_slope_of_a_learned_c_is_its_partial_derivative():
    log_c = torch.tensor([0.3, 1.0], dtype=torch.float64)
    objective = Catoni(PRIOR, 500, 0.05, log_c)
    step = 1e-6
    above, below = (Catoni(PRIOR, 500, 0.05, log_c + change).value(LOSS, PENALTY) for change in (step, -step))
    (slope,) = objective.slopes(LOSS, PENALTY).by_learned
    torch.testing.assert_close(slope, (above - below) / (2 * step), rtol=1e-6, atol=1e-9)


def test_a_loss_that_rounding_pushed_below_zero_is_no_nan():
    value = Seeger(PRIOR, 500, 0.05).value(torch.tensor([-1e-9, 1 + 1e-9], dtype=torch.float64), PENALTY)
    assert torch.isfinite(value).all()
