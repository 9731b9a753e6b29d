"""The empirical risk of a network from draws instead of a sum, for certificates that pay for it."""

import math
from typing import Any

import torch
from torch import Tensor

from pbgnet.certificates.network.evaluation import prepared, row_count
from pbgnet.certificates.network.terms import Terms
from pbgnet.certificates.routes import Sample
from pbgnet.exceptions import UncertifiedError
from pbgnet.networks import AggregatedNetwork, draw_signs
from pbgnet.validation import positive_int

# Number of rows drawn for at a time; another number would give other draws from the same seed.
ROWS_AT_A_TIME = 256


@torch.no_grad()
def draw_risk(network: AggregatedNetwork, x: Any, y: Tensor, terms: Terms) -> Sample:
    """Estimate the mean linear loss over outputs from T sign vectors per row, each row with its own.

    A network with one hidden layer answers, given the signs s of its hidden neurons, with mean
    `erf(w . s / sqrt(2 d))`, and the signs of a row are independent with known means (paper, Eq. 14). So
    the losses are n T independent draws in [0, 1] whose means average to the exact empirical risk.

    Parameters
    ----------
    network : AggregatedNetwork
        As `certifiable` returns it.
    x, y
        The certified rows and the signs their outputs should have: shape (n,), or (n, r) for r > 1.
    terms : Terms
        With `n_samples` and `seed`.

    Raises
    ------
    UncertifiedError
        For more than one hidden layer: the neurons of a layer share their draws, so the means of the next one
        are dependent and the estimate is biased. Also without a hidden layer, because there is nothing to
        draw.
    """
    if network.architecture.n_members is not None:
        raise UncertifiedError(
            "A sampled risk can only be certified for a single network, not for several that answer "
            "together; use aggregation='fourier'."
        )
    depth = len(network.architecture.hidden_layer_sizes)
    if depth != 1:
        reason = (
            "there is nothing to draw without a hidden layer"
            if depth == 0
            else "with more than one hidden layer, neurons share the draws, so the estimate is biased"
        )
        raise UncertifiedError(
            f"A sampled risk can only be certified for one hidden layer: {reason}; use aggregation='fourier'."
        )
    assert terms.seed is not None
    n_samples = positive_int("n_samples", terms.n_samples)
    generator = torch.Generator().manual_seed(terms.seed)
    first, *above = network.layers
    (last,) = above
    n, losses = row_count(x), []
    for start in range(0, n, ROWS_AT_A_TIME):
        stop = min(start + ROWS_AT_A_TIME, n)
        means = first.means(prepared(network, x, start, stop))
        targets = network.architecture.from_output(torch.as_tensor(y)[start:stop].double())
        total = torch.zeros(stop - start, dtype=torch.float64)
        for _ in range(n_samples):
            output = last.means_given(draw_signs(means, generator))
            total += ((1.0 - targets * output) / 2.0).clamp(0.0, 1.0).mean(dim=-1)
        losses += (total / n_samples).tolist()
    return Sample(min(1.0, math.fsum(losses) / n), n * n_samples)
