"""Networks whose mean answers: everything follows from drawing a member first (docs/theory/members.md)."""

import pytest
import torch

from pbgnet.exceptions import ShapeError
from pbgnet.networks import AggregatedNetwork, initial_weights


def make_weights(members, hidden=(3,), seed=0, replicas=()):
    generator = torch.Generator().manual_seed(seed)
    return initial_weights(
        4,
        hidden,
        initialisation="standard_normal",
        generator=generator,
        replicas=(*replicas, members),
        dtype=torch.float64,
    )


@pytest.fixture
def rows():
    return torch.randn(7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("hidden", [(), (3,), (3, 2)])
def test_output_divergence_and_error_are_means_over_the_members(rows, hidden):
    weights, prior = make_weights(5, hidden), make_weights(5, hidden, seed=2)
    together = AggregatedNetwork(weights, prior, members=True)
    alone = [AggregatedNetwork([w[m] for w in weights], [u[m] for u in prior]) for m in range(5)]
    torch.testing.assert_close(together(rows), torch.stack([one(rows) for one in alone]).mean(0))
    torch.testing.assert_close(together.divergence(), torch.stack([one.divergence() for one in alone]).mean())
    errors = torch.stack([one.error_bound() for one in alone])
    assert errors.mean() <= together.error_bound() <= errors.mean() + 1e-14
    assert (together.architecture.n_members, together.architecture.replicas) == (5, ())


def test_a_single_member_is_the_network_itself(rows):
    weights = make_weights(1)
    torch.testing.assert_close(
        AggregatedNetwork(weights, members=True)(rows), AggregatedNetwork([w[0] for w in weights])(rows)
    )


def test_members_stand_behind_replicas(rows):
    weights = make_weights(3, replicas=(2,))
    network = AggregatedNetwork(weights, members=True)
    assert network(rows).shape == (2, 7)
    assert network.divergence().shape == network.error_bound().shape == (2,)
    second = network.take(torch.tensor([1]))
    torch.testing.assert_close(second(rows)[0], network(rows)[1])
    assert "members=3" in repr(network)


def test_members_need_an_axis():
    with pytest.raises(ShapeError, match="needs a member axis"):
        AggregatedNetwork([w[0] for w in make_weights(1)], members=True)


def test_a_drawn_network_is_right_as_often_as_the_output_says(rows):
    # Draw a member, then its signs: the share of each answer is (1 + G) / 2.
    weights = make_weights(3, ())
    network = AggregatedNetwork(weights, members=True)
    generator = torch.Generator().manual_seed(0)
    n = 20_000
    member = torch.randint(3, (n,), generator=generator)
    drawn = weights[0][member, 0] + torch.randn(n, 5, generator=generator, dtype=torch.float64)
    answers = torch.sign(drawn @ network.prepare(rows).mT)
    torch.testing.assert_close(answers.mean(0), network(rows), atol=4 / n**0.5, rtol=0)
