"""What surrounds the aggregated layers, in plain PyTorch: the first layer's means, and losses."""

import math

import torch
from torch import Tensor

# Below this probability of being right, the log loss continues as its tangent: float32 has lost the digits.
SMALLEST_CHANCE = 1e-6


def first_means(product: Tensor, intercept: bool) -> Tensor:
    """Return `erf(w . x / sqrt(2))` (Eq. 4: rows have length 1), and the constant 1 if requested.

    Parameters
    ----------
    product : Tensor, shape (R, n, m)
        The w . x of every example and neuron.
    intercept : bool

    Returns
    -------
    Tensor, contiguous, shape (R, n, m + intercept)
    """
    mean = torch.erf(product / math.sqrt(2))
    return torch.constant_pad_nd(mean, (0, 1), 1.0) if intercept else mean.contiguous()


def pull_back_first_means(grad: Tensor, product: Tensor, intercept: bool) -> Tensor:
    """Return the gradient in `product`, shape (R, n, m), for one in the means, (R, n, m + intercept)."""
    in_mean = grad[..., :-1] if intercept else grad
    return in_mean * (torch.exp(-0.5 * product.square()) * math.sqrt(2 / math.pi))


def linear_loss(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of `(1 - y G) / 2` of each replica, float64, and its derivative in every G.

    Parameters
    ----------
    output : Tensor, shape (R, n) or (R, n, r)
        Several outputs of an example count equally.
    y : Tensor, shape of the output, or without the R in front

    Returns
    -------
    loss : Tensor, float64, shape (R,)
    slope : Tensor, shape of the output
    """
    agreement = (y * output).mean(dim=_all_but_replicas(output), dtype=torch.float64)
    slope = (y * (-0.5 / math.prod(output.shape[1:]))).expand_as(output)
    return 0.5 - 0.5 * agreement, slope


def log_loss(output: Tensor, y: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean of `-ln((1 + y G) / 2)` of each replica, float64, and its derivative in every G.

    The logarithm of the probability that a drawn network is right. Unlike the linear loss it does not give up
    on examples that are answered wrongly. Parameters and returns are those of `linear_loss`; the loss of an
    example is multiplied by its weight, shape (R, n) or (n,), if given.
    """
    chance = 0.5 + 0.5 * (y * output)
    cut = chance.clamp_min(SMALLEST_CHANCE)
    loss = (cut - chance) / SMALLEST_CHANCE - cut.log()
    slope = y * (-0.5 / math.prod(output.shape[1:])) / cut
    if weight is not None:
        of_output = weight[..., None] if output.ndim == 3 else weight
        loss, slope = loss * of_output, slope * of_output
    return loss.mean(dim=_all_but_replicas(output), dtype=torch.float64), slope


def softmax_loss(
    output: Tensor, y: Tensor, code: Tensor, log_temperature: Tensor, weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean cross-entropy of the classes of a code, and its derivatives in outputs and temperature.

    The score of class k is `s_k = mean_j C_kj F_j`, and the loss of an example `ln sum_k exp(t s_k) - t s_y`.
    The example's own score is that of its signs, so the index of its class is not needed.

    Parameters
    ----------
    output : Tensor, shape (R, n, r)
    y : Tensor, shape (R, n, r) or (n, r)
        For each example the row of its class in the code.
    code : Tensor, shape (c, r)
        Signs, of the type of the outputs.
    log_temperature : Tensor, float64, shape (R,)
        The logarithm of t.
    weight : Tensor, shape (R, n) or (n,), optional
        Factor of the loss of an example.

    Returns
    -------
    loss : Tensor, float64, shape (R,)
    slope : Tensor, shape (R, n, r)
    by_log_temperature : Tensor, float64, shape (R,)
    """
    n, r = output.shape[1:]
    factor = (log_temperature.exp() / r).to(output.dtype)[:, None, None]
    scores = factor * (output @ code.T)
    own = factor[..., 0] * (y * output).sum(dim=-1)
    normaliser = scores.logsumexp(dim=-1)
    chances = (scores - normaliser[..., None]).exp()
    loss = normaliser - own
    excess = (chances * scores).sum(dim=-1) - own
    slope = (chances @ code - y) * (factor / n)
    if weight is not None:
        loss, excess, slope = loss * weight, excess * weight, slope * weight[..., None]
    return loss.mean(dim=1, dtype=torch.float64), slope, excess.mean(dim=1, dtype=torch.float64)


def _all_but_replicas(output: Tensor) -> tuple[int, ...]:
    return tuple(range(1, output.ndim))
