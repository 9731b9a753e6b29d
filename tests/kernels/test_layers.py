"""The log loss around the layers: its value, its derivative, and where it is cut."""

import math

import pytest
import torch

from pbgnet.kernels import layers_torch
from pbgnet.kernels.layers_torch import SMALLEST_CHANCE, log_loss

DTYPES = [torch.float32, torch.float64]


def draw(n, *, shared=False, dtype=torch.float64, n_replicas=3):
    """Outputs in (-1, 1) and labels."""
    generator = torch.Generator().manual_seed(0)
    output = 2 * torch.rand(n_replicas, n, generator=generator, dtype=torch.float64) - 1
    y = torch.where(torch.rand((n,) if shared else (n_replicas, n), generator=generator) < 0.5, 1.0, -1.0)
    return output.to(dtype), y.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("shared", [True, False])
def test_the_mean_of_minus_the_logarithm_of_being_right(dtype, n, shared):
    output, y = draw(n, shared=shared, dtype=dtype)
    loss, slope = log_loss(output, y)
    expected = [
        sum(-math.log((1 + label * value) / 2) for label, value in zip(labels, values, strict=True)) / n
        for labels, values in zip(y.expand_as(output).tolist(), output.tolist(), strict=True)
    ]
    assert loss.dtype == torch.float64
    assert (slope.dtype, slope.shape) == (dtype, output.shape)
    tolerance = 1e-6 if dtype == torch.float32 else 1e-14
    torch.testing.assert_close(
        loss, torch.tensor(expected, dtype=torch.float64), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("shared", [True, False])
def test_the_slope_is_the_derivative(shared):
    output, y = draw(50, shared=shared)
    output[0, :3] = -y.expand_as(output)[0, :3] * (1 - torch.tensor([0.0, 1e-7, 1e-5], dtype=torch.float64))
    leaf = output.clone().requires_grad_()
    log_loss(leaf, y)[0].sum().backward()
    # Autograd adds 1 / s and takes it off again, s being the smallest chance.
    torch.testing.assert_close(log_loss(output, y)[1], leaf.grad, rtol=1e-12, atol=1e-16 / SMALLEST_CHANCE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_examples_that_are_surely_wrong_have_a_finite_loss(dtype, label):
    output = torch.tensor([[-label], [label]], dtype=dtype)
    loss, slope = log_loss(output, torch.tensor([label], dtype=dtype))
    # The tangent at the cut, followed down to 0: -ln(s) + 1.
    assert loss[0].item() == pytest.approx(1 - math.log(SMALLEST_CHANCE), rel=1e-6)
    assert slope[0].item() == pytest.approx(-0.5 * label / SMALLEST_CHANCE, rel=1e-6)
    assert (loss[1].item(), slope[1].item()) == (0.0, -0.5 * label)


def test_the_cut_is_a_tangent():
    """Value and slope are continuous there, and below it the loss is a straight line."""
    chance = SMALLEST_CHANCE * torch.tensor([0.2, 0.4, 0.6, 1 - 1e-9, 1 + 1e-9, 2.0], dtype=torch.float64)
    loss, slope = log_loss((2 * chance - 1)[:, None], torch.ones(1, dtype=torch.float64))
    assert loss[3].item() == pytest.approx(loss[4].item(), abs=1e-7)
    assert slope[3].item() == pytest.approx(slope[4].item(), rel=1e-7)
    assert (loss[0] - loss[1]).item() == pytest.approx((loss[1] - loss[2]).item(), rel=1e-6)
    assert slope[0].item() == slope[2].item() == -0.5 / SMALLEST_CHANCE
    assert loss[5].item() == pytest.approx(-math.log(2 * SMALLEST_CHANCE), rel=1e-9)


def test_the_linear_loss_gives_up_where_the_log_loss_does_not():
    output, y = torch.tensor([[-0.999, 0.0, 0.999]]), torch.ones(3)
    linear, log = layers_torch.linear_loss(output, y)[1], log_loss(output, y)[1]
    assert linear[0, 0] == linear[0, 2]
    assert log[0, 0] < 100 * log[0, 1] < 0
