"""The tests that every aggregation method must pass; needs pytest (``pip install pbgnet[test]``).

Derive a test class, and pytest runs the suite on the new method::

    from pbgnet.aggregation.conformance import AggregationConformance


    class TestMyMethod(AggregationConformance):
        def make(self, device):
            return MyMethod()

Values and gradients are compared with enumeration in float64, for widths 1 to 14, batches of 0, 1 and many
examples, replicas, saturated means, weights of every scale, both precisions and all available devices. A
method that uses `pbgnet.kernels` is tested with all of its backends. No other module of the package imports
pytest.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from pbgnet.aggregation.base import Aggregation
from pbgnet.aggregation.enumeration import Enumeration
from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.kernels import PROBES, use_backend

DTYPES = [torch.float32, torch.float64]
BACKENDS_OF_DEVICE = {"cpu": ("numba", "torch"), "cuda": ("triton", "torch")}
REFERENCE = Enumeration()


class AggregationConformance(ABC):
    """Conformance suite for one aggregation method; see the module."""

    mean_gradient_at_corners: bool = True
    """Whether the gradient with respect to the means is right where a mean is exactly -1 or 1."""

    largest_error: float = 0.01
    """The largest error that is accepted, whatever bound the method states: outputs are between -1 and 1, so
    an error bound of 2 would always hold. A method that is coarser on purpose sets a larger one.
    """

    backends: tuple[str, ...] = ()
    """The backends of `pbgnet.kernels` that the method implements; empty if it does not use them."""

    @abstractmethod
    def make(self, device: str) -> Aggregation:
        """Return the method under test."""

    def value_tolerance(self, weight: Tensor) -> float:
        """Largest accepted distance from the exact value; by default the method's own proved error."""
        own = self.make(weight.device.type).error_bound(weight)
        return float((own + REFERENCE.error_bound(weight.double())).amax()) if own.numel() else 0.0

    def gradient_tolerance(self, weight: Tensor, n: int) -> float:
        """Largest accepted distance from an exact gradient summed over n examples or m neurons.

        The error of the derivative with respect to a mean is at most that of the value; with respect to a
        weight it is about ten times larger (``docs/theory/aggregation.md``).
        """
        return 10 * max(n, weight.shape[-2]) * self.value_tolerance(weight)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test on every device, with every backend of the method."""
        if "device" not in metafunc.fixturenames:
            return
        places = []
        for device, backends in BACKENDS_OF_DEVICE.items():
            marks = [pytest.mark.gpu] if device == "cuda" else []
            used: list[str | None] = [name for name in backends if name in self.backends]
            for backend in used or [None]:
                name = f"{device}-{backend}" if backend else device
                places.append(pytest.param((device, backend), id=name, marks=marks))
        metafunc.parametrize("device", places, indirect=True)

    @pytest.fixture
    def device(self, request: pytest.FixtureRequest) -> Iterator[str]:
        """A device, with one of the backends in use."""
        device, backend = request.param
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("no CUDA device")
        if backend in PROBES and (problem := PROBES[backend](torch.device(device))):
            pytest.skip(problem)
        with use_backend(backend) if backend else nullcontext():
            yield device

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("width", range(1, 15))
    def test_value_and_gradients(self, width: int, dtype: torch.dtype, device: str) -> None:
        """Value and both gradients at interior means."""
        mean, weight = self._layer((5,), (3,), width, dtype, device, seed=width)
        self._check(0.8 * mean, 2 * weight)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", [0, 1, 257])
    @pytest.mark.parametrize("m", [0, 1, 4])
    def test_batch_sizes(self, n: int, m: int, dtype: torch.dtype, device: str) -> None:
        """Empty, single and large batches keep their shape, and so do layers without neurons."""
        mean, weight = self._layer((n,), (m,), 5, dtype, device)
        self._check(0.8 * mean, weight)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        ("mean_axes", "weight_axes"),
        [((3, 4), (3, 2)), ((4,), (3, 2)), ((3, 4), (2,)), ((2, 1, 4), (3, 2)), ((1, 4), (1, 2))],
    )
    def test_replicas(
        self, mean_axes: tuple[int, ...], weight_axes: tuple[int, ...], dtype: torch.dtype, device: str
    ) -> None:
        """Leading axes broadcast; gradients sum over broadcast axes."""
        mean, weight = self._layer(mean_axes, weight_axes, 6, dtype, device)
        scales = torch.linspace(0.5, 4, weight[..., 0, 0].numel(), dtype=dtype, device=device)
        self._check(0.8 * mean, weight * scales.reshape(*weight.shape[:-2], 1, 1))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_saturated_means(self, dtype: torch.dtype, device: str) -> None:
        """Means exactly -1, 0 and 1, also all of them at once."""
        mean, weight = self._layer((8,), (3,), 7, dtype, device)
        mean = mean.sign()
        mean[::2, ::3] = 0
        mean[0], mean[1] = 1, -1
        self._check(mean, 2 * weight, mean_gradient=self.mean_gradient_at_corners)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_zero_weights(self, dtype: torch.dtype, device: str) -> None:
        """A neuron without weights is a fair coin; some zero weights have no effect."""
        mean, weight = self._layer((4,), (3,), 5, dtype, device)
        weight[0] = 0
        weight[1, 1:3] = 0
        self._check(0.8 * mean, weight)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("scale", [1e-3, 1e-1, 1.0, 10.0, 50.0])
    def test_weight_scales(self, scale: float, dtype: torch.dtype, device: str) -> None:
        """Nearly linear neurons, and nearly hard ones."""
        mean, weight = self._layer((6,), (3,), 9, dtype, device)
        self._check(0.8 * mean, scale * weight)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_non_contiguous_input(self, dtype: torch.dtype, device: str) -> None:
        """Transposed and strided views give the same results as their copies."""
        mean, weight = self._layer((6,), (8,), 12, dtype, device)
        self._check(0.8 * mean.mT.contiguous().mT[:, ::2], weight.mT.contiguous().mT[::2, 1::2])

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
    def test_error_bound_is_useful(self, scale: float, dtype: torch.dtype, device: str) -> None:
        """The error bound that the method states is above 0, and small enough to tell outputs apart."""
        for width in (1, 5, 14):
            _, weight = self._layer((1,), (3,), width, dtype, device, seed=width)
            tolerance = self.value_tolerance(scale * weight)
            assert 0 < tolerance <= self.largest_error, (
                f"{type(self.make(device)).__name__} accepts errors up to {tolerance} for width {width}; a "
                f"useful bound is at most {self.largest_error}. Tighten error_bound, or set largest_error."
            )

    def test_values_stay_in_range(self, device: str) -> None:
        """The next layer accepts the result as means, even if it rounds to -1 and 1."""
        mean, weight = self._layer((200,), (4,), 8, torch.float32, device)
        weight[:, -1] = 50
        mean[:, -1] = 1  # a dominant input, as a large intercept is
        for dtype in DTYPES:
            for means in (mean, mean.sign()):
                value = self.make(device)(means.to(dtype), weight.to(dtype))
                assert value.abs().max() <= 1

    def test_antisymmetry(self, device: str) -> None:
        """Flipping the signs of all weights flips the sign of the output."""
        mean, weight = self._layer((20,), (4,), 8, torch.float64, device)
        method = self.make(device)
        tolerance = 2 * self.value_tolerance(weight)
        torch.testing.assert_close(method(mean, -weight), -method(mean, weight), rtol=0, atol=tolerance)

    @pytest.mark.parametrize(
        ("mean_shape", "weight_shape"),
        [((4, 3), (2, 5)), ((3,), (2, 3)), ((4, 3), (3,)), ((4, 0), (2, 0)), ((2, 4, 3), (3, 2, 3))],
    )
    def test_wrong_shapes(
        self, mean_shape: tuple[int, ...], weight_shape: tuple[int, ...], device: str
    ) -> None:
        """Shapes that do not match raise an error, and the message shows them."""
        with pytest.raises(ShapeError, match=r"\([\d, ]+\)"):
            self.make(device)(
                torch.zeros(mean_shape, device=device), torch.zeros(weight_shape, device=device)
            )

    @pytest.mark.parametrize("bad", [1.5, -1.0001, torch.nan, torch.inf])
    def test_wrong_means(self, bad: float, device: str) -> None:
        """Means outside [-1, 1], NaN and infinity raise an error."""
        mean, weight = self._layer((4,), (2,), 3, torch.float64, device)
        mean[2, 1] = bad
        with pytest.raises(DomainError, match=r"mean must lie in \[-1, 1\]"):
            self.make(device)(mean, weight)

    @pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
    def test_wrong_weights(self, bad: float, device: str) -> None:
        """Weights that are not finite raise an error."""
        mean, weight = self._layer((4,), (2,), 3, torch.float64, device)
        weight[1, 1] = bad
        with pytest.raises(DomainError, match="weight must be finite"):
            self.make(device)(mean, weight)

    def test_autocast_does_not_cost_digits(self, device: str) -> None:
        """Under autocast the layer gives the same result as without it."""
        mean, weight = self._layer((20,), (4,), 8, torch.float32, device)
        with torch.autocast(device, dtype=torch.bfloat16):
            value = self.make(device)(mean, weight)
        assert value.dtype == torch.float32
        exact = REFERENCE(mean.double(), weight.double())
        torch.testing.assert_close(value.double(), exact, rtol=0, atol=self.value_tolerance(weight))

    def test_wrong_types(self, device: str) -> None:
        """Only float32 and float64 tensors are accepted, and no mixture of them."""
        mean, weight = self._layer((4,), (2,), 3, torch.float64, device)
        method = self.make(device)
        for bad in (mean.half(), mean.long(), mean.float(), mean.cpu().numpy()):
            with pytest.raises(DtypeError, match="float"):
                method(bad, weight)  # type: ignore[arg-type]

    @staticmethod
    def _layer(
        mean_axes: tuple[int, ...],
        weight_axes: tuple[int, ...],
        width: int,
        dtype: torch.dtype,
        device: str,
        seed: int = 0,
    ) -> tuple[Tensor, Tensor]:
        """Draw means uniform in [-1, 1] and standard normal weights; the same on all devices."""
        generator = torch.Generator().manual_seed(seed)
        mean = 2 * torch.rand(*mean_axes, width, generator=generator, dtype=torch.float64) - 1
        weight = torch.randn(*weight_axes, width, generator=generator, dtype=torch.float64)
        return mean.to(device, dtype), weight.to(device, dtype)

    def _check(self, mean: Tensor, weight: Tensor, *, mean_gradient: bool = True) -> None:
        """Compare value and gradients with enumeration in float64, for exactly the same numbers."""
        exact, exact_mean, exact_weight = _value_and_gradients(REFERENCE, mean.double(), weight.double())
        value, in_mean, in_weight = _value_and_gradients(self.make(mean.device.type), mean, weight)
        assert value.dtype == mean.dtype
        assert value.device.type == mean.device.type
        replicas = torch.broadcast_shapes(mean.shape[:-2], weight.shape[:-2])
        assert value.shape == (*replicas, mean.shape[-2], weight.shape[-2])
        tolerance = self.value_tolerance(weight)
        torch.testing.assert_close(value.double(), exact, rtol=0, atol=tolerance)
        tolerance = self.gradient_tolerance(weight, mean.shape[-2] * replicas.numel())
        torch.testing.assert_close(in_weight.double(), exact_weight, rtol=0, atol=tolerance)
        if mean_gradient:
            torch.testing.assert_close(in_mean.double(), exact_mean, rtol=0, atol=tolerance)


def _value_and_gradients(method: Aggregation, mean: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Value, and the gradients of a combination of the outputs with unequal coefficients."""
    mean, weight = mean.detach().requires_grad_(), weight.detach().requires_grad_()
    value = method(mean, weight)
    coefficients = torch.cos(torch.arange(value.numel(), dtype=torch.float64, device=value.device))
    target = (value * coefficients.reshape(value.shape).to(value.dtype)).sum()
    in_mean, in_weight = torch.autograd.grad(target, [mean, weight])
    return value.detach(), in_mean, in_weight
