"""The proved error of a stack of layers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.aggregation import Enumeration, Fourier, propagate_error
from pbgnet.exceptions import DomainError, ShapeError


def draw(seed: int, scale: float) -> tuple[torch.Tensor, list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.rand(20, 4, generator=generator, dtype=torch.float64) - 1
    sizes = [(5, 4), (3, 5), (1, 3)]
    return mean, [scale * torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes]


@given(seed=st.integers(0, 2**31), scale=st.sampled_from([0.1, 1.0, 4.0]), exponent=st.floats(-8, -1))
@settings(max_examples=200)
def test_error_of_a_stack_is_never_above_the_propagated_bound(seed, scale, exponent):
    mean, weights = draw(seed, scale)
    size = 10**exponent
    shift = size * torch.sign(mean)  # an error on the means below, inwards so that they stay means
    method, exact, computed = Fourier(tolerance=size), mean, mean - shift
    for weight in weights:
        exact, computed = Enumeration()(exact, weight), method(computed, weight)
    errors = [method.error_bound(weight) for weight in weights]
    bound = propagate_error(weights, errors, torch.full((4,), size))
    assert ((exact - computed).abs() <= bound + 1e-12).all()


def test_slope_in_a_mean_is_at_most_erf_of_its_weight():
    # The steepest case is a lone input: then the slope is erf(|a| / sqrt 2) itself.
    weight = torch.tensor([[0.7]], dtype=torch.float64)
    mean = torch.tensor([[0.3]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(Enumeration()(mean, weight), mean)
    bound = propagate_error([weight], [torch.zeros(1)], torch.ones(1))
    assert slope.item() == pytest.approx(bound.item()) == pytest.approx(math.erf(0.7 / math.sqrt(2)))


def test_the_constant_input_of_an_intercept_has_no_error():
    weight = torch.tensor([[0.5, 100.0]], dtype=torch.float64)
    error = propagate_error([weight], [torch.zeros(1)], torch.ones(1))
    assert error.item() == pytest.approx(math.erf(0.5 / 2))


def test_replicas_propagate_side_by_side():
    one, two = draw(0, 1.0)[1], draw(1, 3.0)[1]
    both = [torch.stack(pair) for pair in zip(one, two, strict=True)]
    own = [torch.full(weight.shape[:-1], 1e-3) for weight in both]
    together = propagate_error(both, own, torch.zeros(2, 4))
    for r, weights in enumerate((one, two)):
        alone = propagate_error(weights, [error[r] for error in own], torch.zeros(4))
        torch.testing.assert_close(together[r], alone)


def test_bad_input():
    weight = torch.ones(1, 3)
    with pytest.raises(ShapeError, match="takes 3 inputs but there are 5 errors"):
        propagate_error([weight], [torch.zeros(1)], torch.zeros(5))
    with pytest.raises(ShapeError, match="one error for each"):
        propagate_error([weight], [], torch.zeros(3))
    with pytest.raises(DomainError, match="input_error"):
        propagate_error([weight], [torch.zeros(1)], torch.tensor([0.0, torch.nan, 0.0]))
    with pytest.raises(DomainError, match="input_error"):
        propagate_error([weight], [torch.zeros(1)], torch.full((3,), torch.inf))
    with pytest.raises(DomainError, match=r"weights\[0\] must be finite"):
        propagate_error([weight * torch.nan], [torch.zeros(1)], torch.zeros(3))
    with pytest.raises(ShapeError, match="1 neurons"):
        propagate_error([weight], [torch.zeros(7)], torch.zeros(3))
    with pytest.raises(DomainError, match="layer_errors"):
        propagate_error([weight], [-torch.ones(1)], torch.zeros(3))
