"""The parts of a training step that go over all weights, in one pass each, for CPUs."""

import math
from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from pbgnet.bounds import differentiable
from pbgnet.kernels.numba_compiler import compiled, compiled_in_order
from pbgnet.kernels.step_torch import add_distances
from pbgnet.kernels.threads import share

# Numba takes globals as constants.
LARGEST_BELOW_ONE, LARGEST_BUDGET = differentiable.LARGEST_BELOW_ONE, differentiable.LARGEST_BUDGET
NEWTON_STEPS, SLOPE_BORDER = differentiable.NEWTON_STEPS, differentiable.SLOPE_BORDER

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


def squared_distance(weight: Tensor, anchor: Tensor) -> Tensor:
    """Return |w - u|^2 of each replica; see `step_torch.squared_distance`."""
    total = torch.empty(weight.shape[0], dtype=torch.float64)
    w, u = weight.detach().numpy(), anchor.detach().numpy()
    share(partial(_squared_distance, w, u, total.numpy()), len(w), w.size)
    return total


def penalty(weights: Sequence[Tensor], anchors: Sequence[Tensor], factors: Sequence[float]) -> Tensor:
    """Return the penalty of each replica; see `step_torch.penalty`."""
    return add_distances(squared_distance, weights, anchors, factors)


def adam_step(
    weight: Tensor,
    first: Tensor,
    second: Tensor,
    gradient: Tensor,
    anchor: Tensor,
    rate: Tensor,
    scale: Tensor,
    pull: Tensor,
    factor: float,
    n_steps: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Take one step of Adam, in place; see `step_torch.adam_step`."""
    arrays = [t.detach().numpy() for t in (weight, first, second, gradient, anchor, rate, scale, pull)]
    numbers = _rounded(betas, epsilon, arrays[0].dtype)
    run = partial(_adam, *arrays, float(factor), int(n_steps), *betas, numbers)
    share(run, len(arrays[0]), 4 * arrays[0].size)


@lru_cache(maxsize=16)
def _rounded(betas: tuple[float, float], epsilon: float, dtype: np.dtype) -> np.ndarray:
    """1 - beta is rounded once, as in PyTorch: the difference of rounded numbers has lost digits."""
    return np.asarray([1 - betas[0], betas[1], 1 - betas[1], epsilon], dtype=dtype)


def seeger_bound(loss: Tensor, penalty: Tensor, log_factor: float, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the kl bound and its derivatives; see `step_torch.seeger_bound`."""
    bound, by_loss, by_penalty = (torch.empty_like(loss) for _ in range(3))
    arrays = (t.detach().numpy() for t in (loss, penalty, bound, by_loss, by_penalty))
    _seeger_bound(*arrays, float(log_factor), float(n))
    return bound, by_loss, by_penalty


def catoni_slopes(
    loss: Tensor, penalty: Tensor, log_c: Tensor, log_factor: float, n: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of Catoni's bound; see `step_torch.catoni_slopes`."""
    slopes = torch.empty(3, len(loss), dtype=torch.float64)
    arrays = (t.detach().numpy() for t in (loss, penalty, log_c, slopes))
    _catoni_slopes(*arrays, float(log_factor), float(n))
    return slopes[0], slopes[1], slopes[2]


def add_fixed(
    total: Tensor, values: Tensor, share: float, fraction_bits: int, limit: float, lost: Tensor
) -> None:
    """Add a share of some values to sums in whole numbers; see `step_torch.add_fixed`."""
    arrays = (t.detach().numpy() for t in (total, values, lost))
    _add_fixed(*arrays, share * 2.0**fraction_bits, float(limit))


@compiled
def _squared_distance(weight, anchor, total, start, stop):  # type: ignore[no-untyped-def]
    for r in range(start, stop):
        w, u = weight[r].ravel(), anchor[r % len(anchor)].ravel()
        distance = 0.0
        for i in range(len(w)):
            difference = np.float64(w[i]) - np.float64(u[i])
            distance += difference * difference
        total[r] = distance


@compiled
def _adam(  # type: ignore[no-untyped-def]
    weight, first, second, gradient, anchor, rate, scale, pull, factor, n_steps, beta1, beta2, numbers,
    start, stop
):  # fmt: skip
    """Adam on the replicas start .. stop - 1; `numbers` are in the precision of the weights."""
    rest1, b2, rest2, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    rounded = np.empty(4, numbers.dtype)
    rounded[0] = 1.0 / (1.0 - beta2**n_steps)
    for r in range(start, stop):
        if rate[r] == 0:
            continue
        rounded[1] = rate[r] / (1.0 - beta1**n_steps)
        rounded[2] = scale[r]
        rounded[3] = factor * pull[r]
        inverse, step, by_loss, by_distance = rounded[0], rounded[1], rounded[2], rounded[3]
        w, m, v = weight[r].ravel(), first[r].ravel(), second[r].ravel()
        g, u = gradient[r].ravel(), anchor[r % len(anchor)].ravel()
        for i in range(len(w)):
            slope = by_loss * g[i] + by_distance * (w[i] - u[i])
            m[i] = m[i] + rest1 * (slope - m[i])
            v[i] = b2 * v[i] + rest2 * slope * slope
            w[i] -= step * m[i] / (math.sqrt(v[i] * inverse) + epsilon)


@compiled_in_order
def _add_fixed(total, values, lost, factor, limit):  # type: ignore[no-untyped-def]
    for r in range(len(total)):
        sums, row = total[r], values[r]
        n_lost = 0
        for i in range(len(row)):
            fits = abs(row[i]) <= limit
            sums[i] += np.int64(np.rint((np.float64(row[i]) if fits else 0.0) * factor))
            n_lost += 0 if fits else 1
        lost[r] += n_lost


@compiled_in_order
def _seeger_bound(loss, penalty, bound, by_loss, by_penalty, log_factor, n):  # type: ignore[no-untyped-def]
    for r in range(len(loss)):
        q = min(max(loss[r], 0.0), 1.0)
        p = _kl_inverse_upper(q, (penalty[r] + log_factor) / n)
        bound[r] = p
        if p == q:
            by_loss[r], by_penalty[r] = 1.0, 0.0
        else:
            by_budget = p * (1.0 - p) / (p - q)
            by_loss[r] = (_logit(p) - _logit(q)) * by_budget
            by_penalty[r] = by_budget / n
        if not 0.0 <= loss[r] <= 1.0:  # cut off, or NaN
            by_loss[r] = 0.0 * loss[r]


@compiled_in_order
def _catoni_slopes(loss, penalty, log_c, slopes, log_factor, n):  # type: ignore[no-untyped-def]
    for r in range(len(loss)):
        c = math.exp(log_c[r])
        exponent = c * loss[r] + (penalty[r] + log_factor) / n
        rest = -math.expm1(-c)
        share, bound = math.exp(-exponent) / rest, -math.expm1(-exponent) / rest
        slopes[0, r], slopes[1, r] = c * share, share / n
        slopes[2, r] = c * (loss[r] * share - bound * math.exp(-c) / rest)


@compiled_in_order
def _logit(p):  # type: ignore[no-untyped-def]
    p = min(max(p, SLOPE_BORDER), 1.0 - SLOPE_BORDER)
    return math.log(p) - math.log1p(-p)


@compiled_in_order
def _kl_inverse_upper(q, budget):  # type: ignore[no-untyped-def]
    """Newton's method from above, as in `bounds.differentiable`."""
    c = min(budget, LARGEST_BUDGET)
    if q == 1.0 or c == LARGEST_BUDGET:
        return 1.0
    entropy = -_x_log(q, q) - _x_log(1.0 - q, 1.0 - q)
    p = min(
        q + math.sqrt(c / 2.0),
        q + c + math.sqrt(c * c + 2.0 * q * c),
        q + math.sqrt(2.0 * (1.0 - q) * c),
        -math.expm1(-(c + entropy) / (1.0 - q)),
        1.0,
    )
    for _ in range(NEWTON_STEPS):
        p = min(max(p, SMALLEST_NORMAL), LARGEST_BELOW_ONE)
        if p == q:
            return p
        p -= (_kl(q, p) - c) * p * (1.0 - p) / (p - q)
        p = min(max(p, q), 1.0)
    return p


@compiled_in_order
def _kl(q, p):  # type: ignore[no-untyped-def]
    """kl(q || p) as a sum of two parts that are never negative."""
    return _part(q, p) + _part(1.0 - q, 1.0 - p)


@compiled_in_order
def _part(q, p):  # type: ignore[no-untyped-def]
    """q ln(q / p) - q + p >= 0, with the digits training needs."""
    if q < SMALLEST_NORMAL:
        return p
    x = (p - q) / q
    return q * (x - math.log1p(x))


@compiled_in_order
def _x_log(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x == 0.0 else x * math.log(y)
