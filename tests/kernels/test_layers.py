"""The losses around the layers: their values, their derivatives, and where the log loss is cut."""

import math

import pytest
import torch

from pbgnet.kernels.layers_torch import SMALLEST_CHANCE, linear_loss, log_loss, softmax_loss

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
    linear, log = linear_loss(output, y)[1], log_loss(output, y)[1]
    assert linear[0, 0] == linear[0, 2]
    assert log[0, 0] < 100 * log[0, 1] < 0


CODE = torch.tensor([[-1, -1, -1], [1, -1, 1], [-1, 1, 1], [1, 1, -1]], dtype=torch.float64)


def draw_classes(n=40, *, shared=False, n_replicas=2, seed=0):
    """Outputs, the signs of the true classes, and their places."""
    generator = torch.Generator().manual_seed(seed)
    output = 2 * torch.rand(n_replicas, n, 3, generator=generator, dtype=torch.float64) - 1
    places = torch.randint(4, (n,) if shared else (n_replicas, n), generator=generator)
    return output, CODE[places], places.expand(n_replicas, n)


@pytest.mark.parametrize("loss", [linear_loss, log_loss])
@pytest.mark.parametrize("shared", [True, False])
def test_several_outputs_count_alike(loss, shared):
    output, y, _ = draw_classes(shared=shared)
    value, slope = loss(output, y)
    per_output = [loss(output[..., j], y[..., j]) for j in range(3)]
    torch.testing.assert_close(value, torch.stack([each[0] for each in per_output]).mean(dim=0))
    torch.testing.assert_close(slope, torch.stack([each[1] for each in per_output], dim=-1) / 3)


@pytest.mark.parametrize("shared", [True, False])
def test_a_row_with_a_weight_counts_as_often_in_all_outputs(shared):
    output, y, _ = draw_classes(4, shared=shared)
    weight = torch.tensor([2.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    value, slope = log_loss(output, y, weight)
    repeated, _ = log_loss(output[:, [0, 0, 1, 3]], y[..., [0, 0, 1, 3], :])
    torch.testing.assert_close(value, repeated)
    assert not slope[:, 2].any()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_the_softmax_loss_is_the_cross_entropy_of_the_scores(shared, weighted):
    output, y, places = draw_classes(shared=shared)
    weight = torch.rand(40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    leaf = output.clone().requires_grad_()
    log_temperature = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    scores = log_temperature.exp()[:, None, None] * (leaf[..., None, :] * CODE).mean(dim=-1)
    losses = torch.nn.functional.cross_entropy(scores.flatten(0, 1), places.flatten(), reduction="none")
    expected = (losses.view(2, 40) * (weight if weighted else 1.0)).mean(dim=1)
    expected.sum().backward()
    found = softmax_loss(output, y, CODE, log_temperature.detach(), weight if weighted else None)
    for value, right in zip(found, (expected.detach(), leaf.grad, log_temperature.grad), strict=True):
        torch.testing.assert_close(value, right, rtol=1e-12, atol=1e-15)


def test_the_softmax_loss_is_finite_at_any_temperature():
    output, y, _ = draw_classes(5)
    found = softmax_loss(output.float(), y.float(), CODE.float(), torch.tensor([-30.0, 12.0]).double())
    assert all(bool(value.isfinite().all()) for value in found)
    assert found[0][0].item() == pytest.approx(math.log(4), rel=1e-5), "cold classes are all as likely"
    assert [value.dtype for value in found] == [torch.float64, torch.float32, torch.float64]
