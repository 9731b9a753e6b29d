"""Objectives: values are the bounds, slopes are their derivatives."""

import pytest
import torch

from pbgnet.bounds import catoni_bound, catoni_optimal, seeger_bound
from pbgnet.training.objectives import Catoni, FixedTradeOff, LinearLoss, Seeger, squared_norm

PRIOR = [torch.zeros(2, 3, 4), torch.zeros(2, 1, 3)]
LOSS = torch.tensor([0.1, 0.3], dtype=torch.float64)
PENALTY = torch.tensor([20.0, 5.0], dtype=torch.float64)


def objectives():
    log_c = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    return [
        LinearLoss(torch.tensor([0.0, 0.1], dtype=torch.float64)),
        Seeger(PRIOR, 500, 0.05),
        FixedTradeOff(PRIOR, 500, 0.05, torch.tensor([1.0, 2.0], dtype=torch.float64)),
        Catoni(PRIOR, 500, 0.05, log_c),
    ]


@pytest.mark.parametrize("objective", objectives(), ids=lambda o: type(o).__name__)
def test_slopes_are_the_partial_derivatives(objective):
    by_loss, by_penalty = objective.slopes(LOSS, PENALTY)
    step = 1e-5
    in_loss = (objective.value(LOSS + step, PENALTY) - objective.value(LOSS - step, PENALTY)) / (2 * step)
    in_penalty = (objective.value(LOSS, PENALTY + step) - objective.value(LOSS, PENALTY - step)) / (2 * step)
    torch.testing.assert_close(by_loss, in_loss.detach(), rtol=1e-5, atol=1e-9)
    torch.testing.assert_close(by_penalty, in_penalty.detach(), rtol=1e-5, atol=1e-9)


def test_seeger_is_the_certified_bound():
    for constant in ("paper", "maurer"):
        value = Seeger(PRIOR, 500, 0.05, constant).value(LOSS, PENALTY)
        expected = torch.from_numpy(seeger_bound(LOSS, PENALTY, 500, 0.05, constant))
        torch.testing.assert_close(value, expected, rtol=0, atol=1e-11)


def test_catoni_reaches_the_same_bound_at_its_best_c():
    best = catoni_optimal(LOSS, PENALTY, 500, 0.05, "maurer")
    log_c = torch.from_numpy(best.c).log().requires_grad_()
    value = Catoni(PRIOR, 500, 0.05, log_c).value(LOSS, PENALTY)
    torch.testing.assert_close(value.detach(), torch.from_numpy(best.bound), rtol=0, atol=1e-11)
    value.sum().backward()
    assert log_c.grad.abs().max() < 1e-6


def test_fixed_trade_off_orders_posteriors_as_catonis_bound_does():
    c = torch.tensor([2.0, 2.0], dtype=torch.float64)
    values = FixedTradeOff(PRIOR, 500, 0.05, c).value(LOSS, PENALTY)
    bounds = catoni_bound(LOSS, PENALTY, 500, 0.05, 2.0)
    assert (values[0] < values[1]) == (bounds[0] < bounds[1])


def test_penalties():
    weights = [torch.ones(2, 3, 4), torch.ones(2, 1, 3)]
    assert squared_norm(weights).tolist() == [7.5, 7.5]
    assert Seeger(PRIOR, 500, 0.05).penalty(weights).tolist() == [7.5, 7.5]
    assert LinearLoss(torch.zeros(2)).penalty(weights).tolist() == [7.5, 7.5]


def test_a_loss_that_rounding_pushed_below_zero_is_no_nan():
    value = Seeger(PRIOR, 500, 0.05).value(torch.tensor([-1e-9, 1 + 1e-9], dtype=torch.float64), PENALTY)
    assert torch.isfinite(value).all()
