"""Layers of a sign network above the first, in plain PyTorch: reference and fallback.

A neuron that reads signs answers with the sign of a sum of weights, each with a plus or a minus. If the sum
is nearly 0, rounding could flip that sign, differently for every order of the additions. So the answer is the
sign of the exact sum: if a sum in float64 leaves it in doubt, it is computed without rounding. All
implementations therefore give the same answers, ties included, for any order of additions and any number of
rows.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor


def answers(first: Tensor, weights: Sequence[Tensor], intercept: bool) -> Tensor:
    """Return whether each neuron of the last layer answers 1, rather than -1: bool, shape (R, n, m).

    Parameters
    ----------
    first : Tensor, shape (R, n, d)
        `w . x` of the first layer.
    weights : sequence of Tensor, shapes (R, m_k, d_k + intercept)
        Weights of the layers above it, in order.
    intercept : bool
        Whether the last column of each is the weight of a constant input 1.
    """
    on = first > 0
    for weight in weights:
        on = layer(on, weight, intercept)
    return on


def layer(on: Tensor, weight: Tensor, intercept: bool) -> Tensor:
    """Return which neurons answer 1, (R, n, m), given which of their inputs are 1, (R, n, d)."""
    signs = on.double() * 2 - 1
    if intercept:
        signs = torch.constant_pad_nd(signs, (0, 1), 1.0)
    wide = weight.detach().double()
    sums = signs @ wide.mT
    above, limit = sums > 0, doubt(weight)
    in_doubt = ~(sums.abs() > limit[:, None]) & (limit > 0)[:, None]  # so is NaN, where sums overflow
    for r, i, j in in_doubt.nonzero().tolist():
        above[r, i, j] = _exact_sign((signs[r, i] * wide[r, j]).tolist())
    return above


def doubt(weight: Tensor) -> Tensor:
    """Bound the rounding of float64 sums of weights (..., m, d) with any signs, in any order: shape (..., m).

    0 if no sum is ever rounded, because all weights are multiples of one power of 2 that is not too small:
    for example whole numbers, and nearly always weights in float32.
    """
    size = weight.detach().double().abs()
    total = size.sum(-1)
    # Sums stay below 4 times the next power of 2, so that they are whole numbers below 2**53 of this unit.
    unit = torch.exp2(total.log2().ceil() - 51)
    exact = (torch.fmod(size, unit.unsqueeze(-1)) == 0).all(-1) | (total == 0)
    # Each weight goes through 2 d + 16 additions at most, doubled or not: see `bits_numba`.
    return torch.where(exact, 0.0, 4 * (2 * weight.shape[-1] + 16) * 2.0**-53 * total)


def _exact_sign(terms: list[float]) -> bool:
    """Whether a sum of numbers is above 0."""
    try:
        return math.fsum(terms) > 0
    except OverflowError:
        return sum(map(Fraction, terms)) > 0
