"""Layers as objects, and networks of several outputs: as many networks that share their hidden layers."""

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.aggregation import MonteCarlo, sign_probabilities, sign_vectors
from pbgnet.exceptions import DomainError, ShapeError, UncertifiedError
from pbgnet.networks import (
    TWO_CLASSES,
    AggregatedNetwork,
    Architecture,
    SignNetwork,
    TanhNetwork,
    append_one,
    draw_signs,
    initial_weights,
    prepare_rows,
    sign,
)

HIDDEN = [(), (3,), (4, 3)]


def make_weights(hidden=(3,), n_outputs=4, n_features=5, replicas=(), seed=0, dtype=torch.float64, **options):
    generator = torch.Generator().manual_seed(seed)
    return [
        3 * weight
        for weight in initial_weights(
            n_features,
            hidden,
            n_outputs=n_outputs,
            initialisation="standard_normal",
            generator=generator,
            replicas=replicas,
            dtype=dtype,
            **options,
        )
    ]


def make_network(hidden=(3,), aggregation="fourier", intercept=True, **options):
    prior = make_weights(hidden, seed=7, intercept=intercept, **options)
    weights = make_weights(hidden, intercept=intercept, **options)
    return AggregatedNetwork(weights, prior, intercept=intercept, aggregation=aggregation)


def single(network, j):
    """The network that ends in output j alone."""
    *hidden, last = (weight.detach() for weight in network.weights)
    *prior, above = network.prior_weights
    return AggregatedNetwork(
        [*hidden, last[..., j : j + 1, :]],
        [*prior, above[..., j : j + 1, :]],
        intercept=network.architecture.intercept,
        aggregation=network.aggregation,
    )


def make_examples(n=6, n_features=5, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, n_features, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("aggregation", ["fourier", "enumeration"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN)
class TestSeveralOutputs:
    def test_values(self, hidden, intercept, aggregation):
        network, x = make_network(hidden, aggregation, intercept), make_examples()
        output = network(x)
        assert output.shape == (6, 4)
        for j in range(4):
            exact = AggregatedNetwork(list(single(network, j).weights), intercept=intercept)
            torch.testing.assert_close(output[:, j], exact(x), rtol=0, atol=1e-9)
            torch.testing.assert_close(output[:, j], single(network, j)(x), rtol=0, atol=1e-9)

    def test_gradients_of_autograd(self, hidden, intercept, aggregation):
        network, x = make_network(hidden, aggregation, intercept), make_examples()
        slope = torch.cos(torch.arange(24.0, dtype=torch.float64)).reshape(6, 4)
        found = torch.autograd.grad((network(x) * slope).sum(), list(network.weights))
        each = []
        for j in range(4):
            one = single(network, j)
            each.append(torch.autograd.grad((one(x) * slope[:, j]).sum(), list(one.weights)))
        *below, last = (list(parts) for parts in zip(*each, strict=True))
        for gradient, parts in zip(found[:-1], below, strict=True):
            torch.testing.assert_close(gradient, torch.stack(parts).sum(dim=0), rtol=0, atol=1e-8)
        torch.testing.assert_close(found[-1], torch.cat(last), rtol=0, atol=1e-8)

    @pytest.mark.parametrize("kind", ["dense", "sparse"])
    def test_pullback_is_what_autograd_says(self, hidden, intercept, aggregation, kind):
        network = make_network(hidden, aggregation, intercept, replicas=(2,))
        x = make_examples() * (torch.arange(30).reshape(6, 5) % 3 > 0)
        rows = prepare_rows(
            sparse.csr_array(x.numpy()) if kind == "sparse" else x.numpy(),
            unit=True,
            intercept=intercept,
            dtype=torch.float64,
            device="cpu",
        )
        value, pull_back = network.output_with_pullback(rows)
        assert value.shape == (2, 6, 4)
        torch.testing.assert_close(value, network(x), rtol=0, atol=1e-12)
        slope = torch.cos(torch.arange(48.0, dtype=torch.float64)).reshape(2, 6, 4)
        expected = torch.autograd.grad((network(x) * slope).sum(), list(network.weights))
        for found, exact in zip(pull_back(slope), expected, strict=True):
            torch.testing.assert_close(found, exact, rtol=0, atol=1e-10)

    def test_error_bound_and_divergence(self, hidden, intercept, aggregation):
        network, x = make_network(hidden, aggregation, intercept), make_examples(50)
        exact = AggregatedNetwork(list(network.weights), intercept=intercept, aggregation="enumeration")
        bound = network.error_bound()
        assert bound.shape == (4,)
        assert ((network(x) - exact(x)).abs() <= bound + exact.error_bound()).all()
        ones = [single(network, j) for j in range(4)]
        if aggregation == "enumeration":
            torch.testing.assert_close(bound, torch.stack([one.error_bound() for one in ones]))
        else:  # nodes are chosen for the neuron with the largest weights, so each errs by less
            assert bound.max() < 1e-8
        mean = torch.stack([one.divergence() for one in ones]).mean()
        torch.testing.assert_close(network.divergence(), mean, rtol=1e-14, atol=0)

    def test_other_networks(self, hidden, intercept, aggregation):
        network, x = make_network(hidden, aggregation, intercept), make_examples()
        signs = network.sign_network()(x)
        assert signs.shape == (6, 4)
        for j in range(4):
            assert torch.equal(signs[:, j], single(network, j).sign_network()(x))
        if intercept:
            values = TanhNetwork(list(network.weights))(x)
            one = TanhNetwork(list(single(network, 2).weights))(x)
            torch.testing.assert_close(values[:, 2], one, rtol=0, atol=1e-12)


def test_several_outputs_of_replicas_stand_side_by_side():
    network, x = make_network((4, 3), replicas=(2, 3)), make_examples()
    assert network(x).shape == (2, 3, 6, 4)
    assert network.error_bound().shape == (2, 3, 4)
    assert network.divergence().shape == (2, 3)
    one = AggregatedNetwork([w.detach()[1, 2] for w in network.weights])
    torch.testing.assert_close(network(x)[1, 2], one(x), rtol=0, atol=1e-9)
    taken = make_network(replicas=(3,)).take(torch.tensor([2, 0]))
    assert taken.architecture == Architecture(5, (3,), True, (2,), 4)
    assert str(taken.architecture) == "5-3-4, intercept=True, replicas=(2,)"


def test_one_output_has_no_axis():
    network = AggregatedNetwork.initialise(5, (3,), initialisation="zero", n_outputs=1)
    assert network.architecture.n_outputs == 1
    assert network(torch.ones(6, 5)).shape == (6,)
    assert network.error_bound().shape == ()
    with pytest.raises(DomainError, match="n_outputs must be at least 1"):
        AggregatedNetwork.initialise(5, (3,), initialisation="zero", n_outputs=0)


@pytest.mark.statistical
def test_sampled_outputs_are_unbiased():
    network = make_network()
    x = make_examples()
    sampled = AggregatedNetwork(
        list(network.weights), aggregation=MonteCarlo(20_000, torch.Generator().manual_seed(0))
    )
    assert ((sampled(x) - network(x)).abs() * math.sqrt(20_000)).max() < 4.5  # standard deviations


@pytest.mark.parametrize("intercept", [True, False])
def test_means_given_signs_average_to_the_means(intercept):
    # Eq. 9: the aggregated layer is the mean of what it answers to each sign vector.
    first, last = make_network(intercept=intercept).layers
    means = first.means(
        append_one(torch.zeros(1, 5, dtype=torch.float64)) if intercept else torch.eye(5).double()
    )
    signs = sign_vectors(first.n_neurons, dtype=torch.float64)
    expected = sign_probabilities(means) @ last.means_given(signs)
    torch.testing.assert_close(last.means(means), expected, rtol=0, atol=1e-9)
    assert last.n_neurons == 4


def test_signs_are_drawn_with_their_means():
    means = torch.tensor([[-1.0, -0.5, 0.0, 0.9, 1.0]]).expand(40_000, -1)
    signs = draw_signs(means, torch.Generator().manual_seed(0))
    assert signs.dtype == torch.float64
    assert (signs[:, 0] == -1).all()
    assert (signs[:, -1] == 1).all()
    assert ((signs.mean(dim=0) - means[0]).abs() < 4.5 / math.sqrt(40_000)).all()
    assert torch.equal(signs, draw_signs(means, torch.Generator().manual_seed(0)))


def test_layers_see_the_weights_of_their_network():
    network, x = make_network(n_outputs=1), make_examples()
    first, last = network.layers
    with torch.no_grad():
        network.weights[1].zero_()
    assert torch.equal(last.means(first.means(network.prepare(x))), torch.zeros(6, 1, dtype=torch.float64))
    f = SignNetwork(make_weights())
    hidden = sign(f.layers[0].products(f.prepare(make_examples())))
    assert torch.equal(sign(f.layers[1].products(append_one(hidden))), f(make_examples()))


def test_a_first_layer_has_a_proved_error_also_below_a_sampled_one():
    first, last = make_network(aggregation=MonteCarlo(10, torch.Generator())).layers
    error = first.error_bound()
    assert error.shape == (3,)
    assert 0 < error.max() < 1e-12
    with pytest.raises(UncertifiedError, match="fourier"):
        last.error_bound(error)


def test_a_first_layer_refuses_rows_of_other_lengths():
    (first,) = make_network(()).layers
    rows = prepare_rows(
        make_examples().numpy(), unit=False, intercept=True, dtype=torch.float64, device="cpu"
    )
    with pytest.raises(DomainError, match="length 1"):
        first.means(rows)
    with pytest.raises(ShapeError, match="6 columns"):
        first.means(rows[:, :3])


def test_ties_are_the_first_class():
    output = np.array([-1.0, -1e-300, -0.0, 0.0, 1e-300, 0.2, 1.0])
    assert TWO_CLASSES.decode(output).tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert TWO_CLASSES.decode(output).dtype == np.int64
    np.testing.assert_array_equal(TWO_CLASSES.scores(output), np.stack([-output, output], axis=1))
