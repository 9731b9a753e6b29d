# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The elementwise parts of a training step in Triton, for many replicas at a time.

Rates, pulls and the number of steps are read on the device, so a step can be captured in a CUDA graph. No two
programs write to the same cell, so results are the same in every run.
"""

import math
import struct
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

# A few passes over the gradient do not justify a separate kernel.
from pbgnet.kernels.step_torch import add_fixed as add_fixed

# Elements per program and round, and rounds after which a replica is given to another program.
BLOCK = 1024
ROUNDS = 8

# As in `pbgnet.bounds.differentiable` and `pbgnet.bounds.kl`, whose formulas the kernel repeats.
_NEWTON_STEPS = tl.constexpr(8)
_SERIES_TERMS = tl.constexpr(11)
_SERIES_BORDER = tl.constexpr(0.3)
_SLOPE_BORDER = tl.constexpr(1e-16)
_LARGEST_BUDGET = tl.constexpr(1e6)
_LARGEST_BELOW_ONE = tl.constexpr(1.0 - 2.0**-53)
_SMALLEST_NORMAL = tl.constexpr(2.0**-1022)


def penalty(weights: Sequence[Tensor], anchors: Sequence[Tensor], factors: Sequence[float]) -> Tensor:
    """Return `1/2 sum_k factor_k |W_k - U_k|^2` of each replica, float64, shape (R,).

    Parameters
    ----------
    weights : sequence of Tensor, float32 or float64, contiguous, shapes (R, m, d)
    anchors : sequence of Tensor, same type, contiguous, shapes (R, m, d) or (1, m, d)
    factors : sequence of float
    """
    n_replicas, sizes = weights[0].shape[0], [math.prod(weight.shape[1:]) for weight in weights]
    shares = [triton.cdiv(size, BLOCK * ROUNDS) for size in sizes]
    if n_replicas == 0 or sum(shares) == 0:
        return weights[0].new_zeros(n_replicas, dtype=torch.float64)
    parts = weights[0].new_empty(sum(shares), n_replicas, dtype=torch.float64)
    for weight, anchor, factor, size, n_shares, part in zip(
        weights, anchors, factors, sizes, shares, parts.split(shares), strict=True
    ):
        if n_shares == 0:
            continue
        block = min(BLOCK, triton.next_power_of_2(size))
        _distance_kernel[(n_replicas * n_shares,)](
            weight, anchor, part, n_replicas, size, _stride(anchor), n_shares, *_three_singles(0.5 * factor),
            ROUNDS=ROUNDS, BLOCK=block, num_warps=_warps(block), enable_fp_fusion=True,
        )  # fmt: skip
    return parts[0] if len(parts) == 1 else parts.sum(dim=0)


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
    """One step of Adam, in place, along `scale gradient + factor pull (weight - anchor)`.

    Parameters
    ----------
    weight, first, second : Tensor, float32 or float64, contiguous, shape (R, m, d)
        Weights and moments; changed.
    gradient : Tensor, same type, contiguous, shape (R, m, d)
    anchor : Tensor, same type, contiguous, shape (R, m, d) or (1, m, d)
    rate : Tensor, float64, shape (R,)
        Learning rates. The weights of a replica with rate 0 do not change at all.
    scale, pull : Tensor, float64, shape (R,)
    factor : float
        How often the layer counts in the penalty.
    n_steps : Tensor, int64, one element
        The number of this step, 1 for the first.
    betas : tuple of float
        How much of the moments is kept, in [0, 1).
    epsilon : float
    """
    n_replicas, size = weight.shape[0], math.prod(weight.shape[1:])
    if weight.numel() == 0:
        return
    block = min(BLOCK, triton.next_power_of_2(size))
    n_blocks = triton.cdiv(size, block)
    logarithms = [math.log(beta) if beta > 0 else -1e300 for beta in betas]
    _adam_kernel[(n_replicas * n_blocks,)](
        weight, first, second, gradient.contiguous(), anchor, rate, scale, pull, n_steps, size,
        _stride(anchor), n_blocks, *_three_singles(factor), KEEP1=betas[0], KEEP2=betas[1],
        LOG1=logarithms[0], LOG2=logarithms[1], EPSILON=epsilon, BLOCK=block, num_warps=_warps(block),
        enable_fp_fusion=True,
    )  # fmt: skip


def seeger_bound(loss: Tensor, penalty: Tensor, log_factor: float, n: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the kl bound and its derivatives; see `step_torch.seeger_bound`.

    Parameters
    ----------
    loss, penalty : Tensor, float64, contiguous, shape (R,)
    """
    found = loss.new_empty(3, loss.numel())
    if loss.numel():
        block = min(128, triton.next_power_of_2(loss.numel()))
        _seeger_kernel[(triton.cdiv(loss.numel(), block),)](
            loss, penalty, found, loss.numel(), *_three_singles(log_factor), *_three_singles(n),
            BLOCK=block, num_warps=_warps(block), enable_fp_fusion=True,
        )  # fmt: skip
    return found[0], found[1], found[2]


def catoni_slopes(
    loss: Tensor, penalty: Tensor, log_c: Tensor, log_factor: float, n: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Derivatives of Catoni's bound by loss, penalty and ln C; see `step_torch.catoni_slopes`.

    Parameters
    ----------
    loss, penalty, log_c : Tensor, float64, contiguous, shape (R,)
    """
    slopes = loss.new_empty(3, loss.numel())
    if loss.numel():
        block = min(128, triton.next_power_of_2(loss.numel()))
        _catoni_kernel[(triton.cdiv(loss.numel(), block),)](
            loss, penalty, log_c, slopes, loss.numel(), *_three_singles(log_factor), *_three_singles(n),
            BLOCK=block, num_warps=_warps(block), enable_fp_fusion=True,
        )  # fmt: skip
    return slopes[0], slopes[1], slopes[2]


def _stride(anchor: Tensor) -> int:
    return math.prod(anchor.shape[1:]) if anchor.shape[0] > 1 else 0


def _warps(block: int) -> int:
    return max(1, min(4, block // 128))


def _three_singles(x: float) -> tuple[float, float, float]:
    """Split a double into a sum of single-precision numbers: a kernel takes no others by value."""
    parts = []
    for _ in range(3):
        part = struct.unpack("f", struct.pack("f", x))[0]
        parts.append(part)
        x -= part
    return parts[0], parts[1], parts[2]


@triton.jit(do_not_specialize=["n_replicas", "size", "stride", "n_shares"])
def _distance_kernel(
    weight, anchor, total, n_replicas, size, stride, n_shares, factor_a, factor_b, factor_c,
    ROUNDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    share, replica = program % n_shares, program // n_shares
    weight += replica * size
    anchor += replica * stride
    sums = tl.zeros((BLOCK,), dtype=tl.float64)
    for turn in range(ROUNDS):
        i = (share * ROUNDS + turn) * BLOCK + tl.arange(0, BLOCK)
        w = tl.load(weight + i, mask=i < size, other=0.0).to(tl.float64)
        difference = w - tl.load(anchor + i, mask=i < size, other=0.0).to(tl.float64)
        sums += difference * difference
    distance = tl.sum(sums, axis=0)
    factor = ((tl.full((), 0.0, tl.float64) + factor_c) + factor_b) + factor_a
    tl.store(total + share * n_replicas + replica, factor * distance)


@triton.jit(do_not_specialize=["size", "stride", "n_blocks"])
def _adam_kernel(
    weight, first, second, gradient, anchor, rate, scale, pull, n_steps, size, stride, n_blocks,
    factor_a, factor_b, factor_c,
    KEEP1: tl.constexpr, KEEP2: tl.constexpr, LOG1: tl.constexpr, LOG2: tl.constexpr,
    EPSILON: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    block, replica = program % n_blocks, program // n_blocks
    i = block * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    cells = replica * size + i
    w = tl.load(weight + cells, mask=inside, other=0.0)
    u = tl.load(anchor + replica * stride + i, mask=inside, other=0.0)
    m = tl.load(first + cells, mask=inside, other=0.0)
    v = tl.load(second + cells, mask=inside, other=0.0)
    g = tl.load(gradient + cells, mask=inside, other=0.0)
    speed, pulling = tl.load(rate + replica), tl.load(pull + replica)
    strength = pulling * (((tl.full((), 0.0, tl.float64) + factor_c) + factor_b) + factor_a)
    by_loss = tl.load(scale + replica)
    # Weight and anchor are close: their difference and its pull are formed in float64.
    away = w.to(tl.float64) - u.to(tl.float64)
    g = (by_loss * g.to(tl.float64) + strength * away).to(w.dtype)
    m += (g - m) * (1.0 - KEEP1)
    v = v * KEEP2 + (g * g) * (1.0 - KEEP2)
    steps = tl.load(n_steps).to(tl.float64)
    length = (speed / (1.0 - tl.exp(steps * LOG1))).to(w.dtype)
    root = tl.sqrt(1.0 - tl.exp(steps * LOG2)).to(w.dtype)
    spread = tl.sqrt(v) if w.dtype == tl.float64 else tl.sqrt_rn(v)  # sqrt alone is approximate in float32
    moved = w - length * m / (spread / root + EPSILON)
    tl.store(first + cells, m, mask=inside)
    tl.store(second + cells, v, mask=inside)
    tl.store(weight + cells, tl.where(speed == 0.0, w, moved), mask=inside)


@triton.jit(do_not_specialize=["n_replicas"])
def _seeger_kernel(loss, penalty, found, n_replicas, log_a, log_b, log_c, n_a, n_b, n_c, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n_replicas
    raw = tl.load(loss + i, mask=inside, other=0.5)
    q = tl.where(raw < 0.0, 0.0, tl.where(raw > 1.0, 1.0, raw))
    zero = tl.zeros_like(q)
    n = ((zero + n_c) + n_b) + n_a
    budget = tl.load(penalty + i, mask=inside, other=1.0) + (((zero + log_c) + log_b) + log_a)
    p = _upper_inverse(q, budget / n)
    by_budget = _inverse_slope(q, p)
    by_q = (_logit(_between_borders(p)) - _logit(_between_borders(q))) * by_budget
    by_q = tl.where(p == q, 1.0, by_q)
    tl.store(found + i, p, mask=inside)
    tl.store(found + n_replicas + i, tl.where((raw < 0.0) | (raw > 1.0), 0.0, by_q), mask=inside)
    tl.store(found + 2 * n_replicas + i, by_budget / n, mask=inside)


@triton.jit(do_not_specialize=["n_replicas"])
def _catoni_kernel(
    loss, penalty, log_c, slopes, n_replicas, log_a, log_b, log_c_, n_a, n_b, n_c, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n_replicas
    q = tl.load(loss + i, mask=inside, other=0.5)
    c = tl.exp(tl.load(log_c + i, mask=inside, other=0.0))
    zero = tl.zeros_like(q)
    n = ((zero + n_c) + n_b) + n_a
    budget = (tl.load(penalty + i, mask=inside, other=1.0) + (((zero + log_c_) + log_b) + log_a)) / n
    exponent = c * q + budget
    rest = -_exp_less_one(-c)
    share, bound = tl.exp(-exponent) / rest, -_exp_less_one(-exponent) / rest
    tl.store(slopes + i, c * share, mask=inside)
    tl.store(slopes + n_replicas + i, share / n, mask=inside)
    by_log_c = c * (q * share - bound * tl.exp(-c) / rest)
    tl.store(slopes + 2 * n_replicas + i, by_log_c, mask=inside)


@triton.jit
def _upper_inverse(q, c):
    """The p >= q with kl(q || p) = c."""
    c = tl.where(c > _LARGEST_BUDGET, _LARGEST_BUDGET, c)
    p = _outer_start(q, c)
    zero = tl.zeros_like(q)
    low, high = zero + _SMALLEST_NORMAL, zero + _LARGEST_BELOW_ONE
    for _ in range(_NEWTON_STEPS):
        inside = tl.where(p < low, low, tl.where(p > high, high, p))
        p = inside - (_kl(q, inside) - c) * _inverse_slope(q, inside)
        p = tl.where(p < q, q, tl.where(p > 1.0, 1.0, p))
    return tl.where((q == 1.0) | (c == _LARGEST_BUDGET), 1.0, p)


@triton.jit
def _outer_start(q, c):
    """The smallest of four elementary upper bounds on the inverse, and of 1."""
    entropy = -_x_log_x(q) - _x_log_x(1.0 - q)
    rest = tl.where(q == 1.0, 1.0, 1.0 - q)
    a, b = q + tl.sqrt(c * 0.5), q + c + tl.sqrt(c * c + 2.0 * q * c)
    e, f = q + tl.sqrt(2.0 * (1.0 - q) * c), -_exp_less_one(-(c + entropy) / rest)
    a, e = tl.where(b < a, b, a), tl.where(f < e, f, e)
    a = tl.where(e < a, e, a)
    return tl.where(a > 1.0, 1.0, a)


@triton.jit
def _kl(q, p):
    """Binary relative entropy to full relative accuracy, as the sum of two non-negative terms."""
    return _bregman_term(q, p, p - q) + _bregman_term(1.0 - q, 1.0 - p, q - p)


@triton.jit
def _bregman_term(a, b, difference):
    """a ln(a/b) - a + b, by a series where b is close to a."""
    divisor = tl.where(a == 0.0, 1.0, a)
    x = difference / divisor
    s = x / (2.0 + x)
    square = s * s
    tail = tl.zeros_like(s) + 1.0 / (2 * _SERIES_TERMS + 1)
    for back in tl.static_range(1, _SERIES_TERMS):
        tail = tail * square + 1.0 / (2 * (_SERIES_TERMS - back) + 1)
    near = a * (x * s - 2.0 * s * square * tail)
    far = difference - a * (tl.log(b) - tl.log(divisor))
    ratio = b / divisor
    safe = (ratio > 1e-290) & (ratio < 1e290)
    far = tl.where(safe, difference - a * tl.log(tl.where(safe, ratio, 1.0)), far)
    # A sum, since a comparison would round the number to single precision.
    border = tl.zeros_like(x) + _SERIES_BORDER
    return tl.where(a == 0.0, b, tl.where(tl.abs(x) <= border, near, far))


@triton.jit
def _inverse_slope(q, p):
    """1 / (d kl / dp) = p (1-p) / (p-q), and 0 where p equals q."""
    gap = tl.where(p == q, 1.0, p - q)
    return tl.where(p == q, 0.0, p * (1.0 - p) / gap)


@triton.jit
def _x_log_x(x):
    return tl.where(x == 0.0, 0.0, x * tl.log(tl.where(x == 0.0, 1.0, x)))


@triton.jit
def _exp_less_one(x):
    """exp(x) - 1 without cancellation: the rounding of u = exp(x) drops out of (u-1) x / ln u."""
    u = tl.exp(x)
    plain = (u == 1.0) | (u < 0.5)
    middle = (u - 1.0) * x / tl.log(tl.where(plain, 2.0, u))
    return tl.where(u == 1.0, x, tl.where(u < 0.5, u - 1.0, middle))


@triton.jit
def _logit(x):
    return tl.log(x / (1.0 - x))


@triton.jit
def _between_borders(x):
    low = tl.zeros_like(x) + _SLOPE_BORDER
    high = tl.zeros_like(x) + (1.0 - _SLOPE_BORDER)
    return tl.where(x < low, low, tl.where(x > high, high, x))
