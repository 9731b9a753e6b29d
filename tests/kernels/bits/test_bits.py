"""Layers on bits answer as the plain ones do: over odd shapes, for all kinds of weights, and in ties."""

from fractions import Fraction
from itertools import pairwise

import pytest
import torch

from pbgnet.kernels.bits import bits_numba, bits_torch

KINDS = {
    "real": lambda weight: weight,
    "float32": lambda weight: weight.float(),
    "signs": lambda weight: torch.where(weight > 0, 0.7, -0.7).double(),
    "whole numbers": lambda weight: weight.mul(2).round(),
    "some of them 0": lambda weight: weight * (weight > 0),
    "all 0": torch.zeros_like,
}


def make(shape, intercept, kind, n, seed=0, replicas=2):
    """Products of a first layer, and weights of those above."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(replicas, n, shape[0], generator=generator, dtype=torch.float64)
    weights = [
        KINDS[kind](torch.randn(replicas, m, d + intercept, generator=generator, dtype=torch.float64))
        for d, m in pairwise(shape)
    ]
    return first, weights, intercept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "shape", [(1, 1), (8, 1), (20, 3), (63, 9, 2), (64, 1), (65, 17, 8, 1), (130, 70, 10)]
)
def test_bits_answer_as_plain_layers(shape, intercept, kind):
    given = make(shape, intercept, kind, n=bits_numba.FEW_ROWS + 45)
    assert torch.equal(bits_numba.answers(*given), bits_torch.answers(*given))


@pytest.mark.parametrize("kernel", [bits_numba, bits_torch])
@pytest.mark.parametrize("n", [1, 300])
def test_a_sign_in_doubt_is_that_of_the_exact_sum(kernel, n):
    """The sums of these weights round to 0, to the wrong side, or overflow, depending on the order."""
    weights = [[1.0, 2.0**-60, -1.0], [1.0, -(2.0**-60), -1.0], [0.1, 0.2, -0.3], [1.5e308, 1.5e308, -1.0]]
    weight = torch.tensor([weights], dtype=torch.float64)
    on = torch.tensor([[True, True, True], [True, False, True], [False, True, True]] * n)[None]
    found = kernel.answers(on.double() * 2 - 1, [weight], False)
    for i, signs in enumerate(on[0, :3].tolist()):
        exact = [
            sum(Fraction(w) * (1 if s else -1) for w, s in zip(row, signs, strict=True)) for row in weights
        ]
        assert found[0, i].tolist() == [value > 0 for value in exact]


@pytest.mark.parametrize("kernel", [bits_numba, bits_torch])
@pytest.mark.parametrize("size", [0.7, 1.0])
def test_a_tie_is_answered_with_minus_1(kernel, size):
    first = torch.tensor([[1.0, -1.0], [1.0, 1.0]] * 200, dtype=torch.float64)[None]
    found = kernel.answers(first, [torch.full((1, 1, 2), size, dtype=torch.float64)], False)
    assert found[0, :2, 0].tolist() == [False, True]


def test_sums_of_like_multiples_are_known_to_be_exact():
    weight = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    assert (bits_torch.doubt(weight) == 0).all()
    assert (bits_torch.doubt(weight.double() / 3) > 0).all()
    assert (bits_torch.doubt(torch.zeros(1, 4)) == 0).all()


def test_a_layer_too_wide_for_tables_is_multiplied(monkeypatch):
    given = make((40, 30, 2), True, "real", n=2500)
    monkeypatch.setattr(bits_numba, "MOST_ENTRIES", 1)
    assert torch.equal(bits_numba.answers(*given), bits_torch.answers(*given))


def test_threads_change_nothing(monkeypatch):
    given = make((100, 100, 1), True, "real", n=30_000, replicas=1)
    expected, before = bits_numba.answers(*given), torch.get_num_threads()
    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1)
    torch.set_num_threads(2)
    try:
        assert torch.equal(bits_numba.answers(*given), expected)
    finally:
        torch.set_num_threads(before)
