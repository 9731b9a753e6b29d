"""Every aggregation method against the shipped conformance suite."""

import pytest
import torch
from torch import Tensor

from pbgnet.aggregation import METHODS, Aggregation, Enumeration, Fourier, MonteCarlo
from pbgnet.aggregation.conformance import AggregationConformance
from pbgnet.kernels.dispatch import KERNELS, find_kernel


class TestFourier(AggregationConformance):
    backends = ("torch", "numba", "triton")

    def make(self, device: str) -> Aggregation:
        return Fourier()

    def test_the_backend_in_the_name_of_a_test_is_the_one_that_runs(
        self, device: str, request: pytest.FixtureRequest
    ) -> None:
        kernel = find_kernel("fourier", torch.device(device)).__name__
        assert kernel.rpartition("_")[2] in request.node.name


class TestFourierAdaptive(AggregationConformance):
    backends = ("torch", "numba", "triton")

    def make(self, device: str) -> Aggregation:
        return Fourier(adaptive=True)


class TestFourierCoarse(AggregationConformance):
    """A tolerance large enough to be visible must still be kept."""

    backends = ("torch", "numba", "triton")

    def make(self, device: str) -> Aggregation:
        return Fourier(tolerance=1e-3)


class TestEnumeration(AggregationConformance):
    def make(self, device: str) -> Aggregation:
        return Enumeration()


class TestMonteCarlo(AggregationConformance):
    """A random estimate: within six standard deviations of the exact value."""

    backends = ("torch", "triton")
    mean_gradient_at_corners = False
    n_samples = 10_000
    largest_error = 0.06

    def make(self, device: str) -> Aggregation:
        return MonteCarlo(self.n_samples, torch.Generator(device).manual_seed(1))

    def value_tolerance(self, weight: Tensor) -> float:
        return 6 / self.n_samples**0.5

    def gradient_tolerance(self, weight: Tensor, n: int) -> float:
        # Second moments: 1 / (1 - g^2) <= 2.8 per neuron for a mean (Eq. 14), 2 / (pi d) per example
        # for a weight (Eq. 15); estimates of different examples are independent.
        return 1.7 * weight.shape[-2] * self.value_tolerance(weight) + n**0.5 * self.value_tolerance(weight)


def test_a_method_whose_error_bound_says_nothing_does_not_pass() -> None:
    class Vacuous(Enumeration):
        def error_bound(self, weight: Tensor) -> Tensor:
            return torch.full(weight.shape[:-1], 2.0, dtype=torch.float64)

    class OfVacuous(AggregationConformance):
        def make(self, device: str) -> Aggregation:
            return Vacuous()

    with pytest.raises(AssertionError, match=r"Vacuous accepts errors up to 2.*useful"):
        OfVacuous().test_error_bound_is_useful(1.0, torch.float64, "cpu")


def test_every_registered_method_is_covered() -> None:
    made = {suite().make("cpu").name for suite in AggregationConformance.__subclasses__()}
    assert made == set(METHODS)


def test_every_implementation_of_a_kernel_is_covered() -> None:
    for suite, operation in [(TestFourier, "fourier"), (TestMonteCarlo, "monte_carlo")]:
        assert set(suite.backends) == set(KERNELS[operation])
