"""Rates and guarantees of the aggregation methods, regressed rather than assumed."""

import math

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Enumeration, Fourier, MonteCarlo, expected_sign

pytestmark = pytest.mark.statistical


def make_layer(width: int, n: int, m: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mean = 1.6 * torch.rand(n, width, generator=generator, dtype=torch.float64) - 0.8
    return mean, torch.randn(m, width, generator=generator, dtype=torch.float64)


def test_monte_carlo_error_falls_as_the_root_of_the_number_of_samples():
    mean, weight = make_layer(6, 400, 5)
    exact = Enumeration()(mean, weight)
    generator = torch.Generator().manual_seed(1)
    counts = [4, 16, 64, 256, 1024, 4096]
    errors = [float((MonteCarlo(T, generator)(mean, weight) - exact).square().mean().sqrt()) for T in counts]
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.03)


def test_monte_carlo_gradients_are_unbiased():
    # 40 000 independent estimates with T = 2 average to the exact gradient (Eqs. 14, 15).
    repetitions = 40_000
    mean, weight = make_layer(4, 2, 2, seed=3)
    v = torch.tensor([[1.0, -0.5], [0.3, 2.0]], dtype=torch.float64)

    def gradients(method, replicas):
        g = mean.expand(replicas, 2, 4).clone().requires_grad_()
        w = weight.expand(replicas, 2, 4).clone().requires_grad_()
        return torch.autograd.grad((method(g, w) * v).sum(), [g, w])

    sampled = gradients(MonteCarlo(2, torch.Generator().manual_seed(4)), repetitions)
    exact = gradients(Enumeration(), 1)
    for got, expected in zip(sampled, exact, strict=True):
        error = (got.mean(dim=0) - expected[0]) / (got.std(dim=0) / math.sqrt(repetitions))
        assert error.abs().max() < 4.5  # standard errors, over 16 entries


def test_wide_layer_agrees_with_a_large_sample():
    mean, weight = make_layer(1000, 3, 2, seed=5)
    exact = expected_sign(mean, weight)
    n_samples, repetitions = 2_000, 20
    generator = torch.Generator().manual_seed(6)
    runs = torch.stack([MonteCarlo(n_samples, generator)(mean, weight) for _ in range(repetitions)])
    standard_error = runs.std(dim=0) / math.sqrt(repetitions)
    assert standard_error.max() < 0.005
    assert ((runs.mean(dim=0) - exact) / standard_error).abs().max() < 5  # t law, 19 degrees, 6 entries


def test_fourier_error_falls_with_the_tolerance():
    # Over ten orders of magnitude the measured error stays below the tolerance and follows it.
    mean, weight = make_layer(9, 200, 5, seed=7)
    mean = mean.sign()
    exact = Enumeration()(mean, weight)
    tolerances = np.logspace(-1, -10, 10)
    errors = [float((Fourier(t)(mean, weight) - exact).abs().max()) for t in tolerances]
    assert all(error <= t for error, t in zip(errors, tolerances, strict=True))
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.15)
