"""A network that departed from a random prior, and rows to judge it on."""

import pytest
import torch

from pbgnet.networks import AggregatedNetwork, initial_weights


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 3, generator=generator, dtype=torch.float64)
    y = torch.where(x[:, 0] > 0.2, 1.0, -1.0)
    prior = initial_weights(3, (5,), generator=generator, dtype=torch.float64)
    weights = [weight + torch.randn(weight.shape, generator=generator) for weight in prior]
    return AggregatedNetwork(weights, prior), x, y
