"""The plain sign network."""

import itertools

import pytest
import torch

from pbgnet.exceptions import DtypeError, ShapeError
from pbgnet.networks import AggregatedNetwork, SignNetwork


def test_one_hidden_layer_computes_xor():
    hidden = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0]])  # "not both low", "both high"
    output = torch.tensor([[1.0, -1.0, -1.0]])
    f = SignNetwork([hidden, output])
    corners = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=2)))
    assert f(corners).tolist() == [-1, 1, 1, -1]


def test_output_does_not_depend_on_the_scale_of_weights():
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(3, 5, generator=generator), torch.randn(1, 4, generator=generator)]
    x = torch.randn(50, 4, generator=generator)
    assert torch.equal(SignNetwork(weights)(x), SignNetwork([7 * w for w in weights])(x))


def test_large_weights_bring_aggregate_and_sign_network_together():
    generator = torch.Generator().manual_seed(1)
    network = AggregatedNetwork.initialise(4, (5, 3), generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for weight in network.weights:
            weight.mul_(3000)
    x = torch.randn(200, 4, generator=generator, dtype=torch.float64)
    agreement = (network(x).sign() == network.sign_network()(x)).double().mean()
    assert agreement > 0.95


def test_replicas():
    generator = torch.Generator().manual_seed(2)
    weights = [torch.randn(6, 3, 5, generator=generator), torch.randn(6, 1, 4, generator=generator)]
    x = torch.randn(20, 4, generator=generator)
    together = SignNetwork(weights)(x)
    assert together.shape == (6, 20)
    for r in range(6):
        assert torch.equal(together[r], SignNetwork([w[r] for w in weights])(x))


def test_weights_are_copied():
    weight = torch.ones(1, 3)
    f = SignNetwork([weight])
    weight.fill_(-1)
    assert f(torch.ones(1, 2)).tolist() == [1]


def test_bad_input():
    f = SignNetwork([torch.ones(1, 3)])
    with pytest.raises(ShapeError, match=r"\(\.\.\., n, 2\)"):
        f(torch.ones(1, 3))
    with pytest.raises(DtypeError, match="like the weights"):
        f(torch.ones(1, 2, dtype=torch.float64))
