"""The aggregated network: its value by first principles, its divergence, its proved error."""

import math

import pytest
import torch

from pbgnet.aggregation import Enumeration, MonteCarlo
from pbgnet.bounds import tree_divergence
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    OptionError,
    SecondDerivativeError,
    ShapeError,
    UncertifiedError,
    UnknownNameError,
)
from pbgnet.networks import AggregatedNetwork, initial_weights, linear_loss, sign, zero_one_loss


def make_network(hidden=(3,), n_features=4, seed=0, scale=2.0, **options) -> AggregatedNetwork:
    generator = torch.Generator().manual_seed(seed)
    options = {"dtype": torch.float64, **options}
    network = AggregatedNetwork.initialise(n_features, hidden, generator=generator, **options)
    with torch.no_grad():
        for weight in network.weights:
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.add_(noise.to(weight.dtype), alpha=scale)
    return network


def make_examples(n=6, n_features=4, seed=1, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(n, n_features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(
        dtype
    )


@pytest.mark.parametrize("hidden", [(), (3,), (1,), (4, 3), (2, 1, 3)])
@pytest.mark.parametrize("intercept", [True, False])
def test_output_is_the_recursion_of_the_paper(hidden, intercept):
    # Eq. 16 written out by hand with the combinatorial sum, constant inputs included.
    network = make_network(hidden, intercept=intercept)
    x = make_examples()
    inputs = torch.cat([x, torch.ones(6, 1, dtype=torch.float64)], dim=1) if intercept else x
    first, *rest = network.weights
    mean = torch.erf(inputs @ first.T / (math.sqrt(2) * inputs.norm(dim=1, keepdim=True)))
    for weight in rest:
        if intercept:
            mean = torch.cat([mean, torch.ones(6, 1, dtype=torch.float64)], dim=1)
        mean = Enumeration()(mean, weight)
    torch.testing.assert_close(network(x), mean[:, 0], rtol=0, atol=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("hidden", [(), (3,)])
@pytest.mark.parametrize("intercept", [True, False])
def test_output_is_the_average_of_sign_networks_drawn_from_the_posterior(hidden, intercept):
    # F(x) = E f(x) over N(theta, I), exactly, for up to one hidden layer: intercepts carry noise too.
    network = make_network(hidden, intercept=intercept, scale=1.0)
    x = make_examples()
    draws = 40_000
    generator = torch.Generator().manual_seed(2)
    noisy = [
        w.detach() + torch.randn(draws, *w.shape, generator=generator, dtype=torch.float64)
        for w in network.weights
    ]
    votes = AggregatedNetwork(noisy, intercept=intercept).sign_network()(x)
    error = (votes.mean(dim=0) - network(x)) * math.sqrt(draws)
    assert error.abs().max() < 4.5  # standard deviations, 6 examples


@pytest.mark.statistical
def test_deep_output_is_the_average_of_tree_networks():
    # Section 4: every neuron of the tree draws its own copy of the weights below it.
    network = make_network((2, 2), scale=1.0)
    x = make_examples(n=3)
    draws = 40_000
    generator = torch.Generator().manual_seed(3)
    one = torch.ones(draws, 3, 1, dtype=torch.float64)
    weights = [weight.detach() for weight in network.weights]

    def subtree(layer: int, neuron: int) -> torch.Tensor:
        row = weights[layer][neuron]
        v = row + torch.randn(draws, len(row), generator=generator, dtype=torch.float64)
        if layer == 0:
            inputs = torch.cat([x.expand(draws, -1, -1), one], dim=-1)
        else:
            below = [subtree(layer - 1, i) for i in range(weights[layer - 1].shape[0])]
            inputs = torch.cat([torch.stack(below, dim=-1), one], dim=-1)
        return sign((inputs @ v.unsqueeze(-1)).squeeze(-1))

    error = (subtree(2, 0).mean(dim=0) - network(x)) * math.sqrt(draws)
    assert error.abs().max() < 4.5


@pytest.mark.parametrize("hidden", [(), (3,), (4, 3)])
def test_replicas_are_networks_side_by_side(hidden):
    networks = [make_network(hidden, seed=seed, scale=1.0 + seed) for seed in range(3)]
    stacked = AggregatedNetwork(
        [torch.stack(ws) for ws in zip(*(n.weights for n in networks), strict=True)],
        [torch.stack(us) for us in zip(*(n.prior_weights for n in networks), strict=True)],
    )
    x = make_examples()
    output, divergence, error = stacked(x), stacked.divergence(), stacked.error_bound()
    assert output.shape == (3, 6)
    for r, network in enumerate(networks):
        torch.testing.assert_close(output[r], network(x), rtol=0, atol=1e-9)
        torch.testing.assert_close(divergence[r], network.divergence())
        assert error[r] <= 2 * network.error_bound()
    batches = torch.stack([make_examples(seed=seed) for seed in range(3)])
    torch.testing.assert_close(stacked(batches)[1], networks[1](batches[1]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_error_bound_covers_truncation_and_rounding(hidden, dtype):
    for seed in range(20):
        network = make_network(hidden, seed=seed, scale=1 + seed % 4, dtype=dtype)
        exact = AggregatedNetwork([w.double() for w in network.weights], aggregation="enumeration")
        x = make_examples(50, seed=seed, dtype=dtype)
        error = (network(x).double() - exact(x.double())).abs().max()
        assert error <= network.error_bound() + exact.error_bound()
    assert network.error_bound() < (1e-2 if dtype == torch.float32 else 1e-8)


def test_a_sampled_network_has_no_proved_error():
    network = make_network(aggregation=MonteCarlo(100, torch.Generator().manual_seed(0)))
    assert network(make_examples()).shape == (6,)
    with pytest.raises(UncertifiedError, match="fourier"):
        network.error_bound()


def test_prior_is_a_buffer_and_starts_at_the_weights():
    network = AggregatedNetwork.initialise(4, (3,), generator=torch.Generator().manual_seed(0))
    assert network.divergence().item() == 0
    assert {name for name, _ in network.named_parameters()} == {"weights.0", "weights.1"}
    with torch.no_grad():
        network.weights[0] += 1
    assert network.divergence().item() == pytest.approx(0.5 * 15)
    assert "prior_0" in network.state_dict()
    network.fix_prior()
    assert network.divergence().item() == 0
    with torch.no_grad():
        network.weights[1] += 1
    assert network.divergence().item() == pytest.approx(0.5 * 4)


def test_divergence_is_the_tree_divergence_and_differentiable():
    network = make_network((4, 3))
    expected = tree_divergence(list(network.weights), network.prior_weights)
    torch.testing.assert_close(network.divergence(), expected)
    network.divergence().backward()
    copies = 3  # each row of the first hidden layer's weights stands 3 times in the tree, times 1
    torch.testing.assert_close(network.weights[1].grad, network.weights[1] - network.prior_weights[1])
    torch.testing.assert_close(
        network.weights[0].grad, copies * (network.weights[0] - network.prior_weights[0])
    )


def test_state_survives_saving(tmp_path):
    network, other = make_network(seed=0), make_network(seed=5)
    torch.save(network.state_dict(), tmp_path / "state.pt")
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    x = make_examples()
    assert torch.equal(network(x), other(x))
    assert torch.equal(network.divergence(), other.divergence())


def test_gradients_reach_every_weight():
    network = make_network((4, 3))
    linear_loss(network(make_examples()), torch.tensor([1.0, -1, 1, 1, -1, 1])).mean().backward()
    assert all(weight.grad.abs().min() > 0 for weight in network.weights)


def test_zero_one_loss_is_at_most_twice_the_linear_loss():
    output = torch.linspace(-1, 1, 101)
    for y in (-1.0, 1.0):
        labels = torch.full_like(output, y)
        assert (zero_one_loss(output, labels) <= 2 * linear_loss(output, labels) + 1e-7).all()


def test_xavier_normal_has_its_variance_and_zero_intercepts():
    generator = torch.Generator().manual_seed(0)
    weights = initial_weights(300, (100,), generator=generator, replicas=(5,))
    assert [tuple(w.shape) for w in weights] == [(5, 100, 301), (5, 1, 101)]
    assert weights[0][..., :300].var().item() == pytest.approx(2 / 400, rel=0.02)
    small = initial_weights(2, (3,), generator=generator, replicas=(20_000,))
    assert small[0][..., :2].var().item() == pytest.approx(2 / 5, rel=0.03)
    assert (weights[0][..., 300:] == 0).all()
    assert not torch.equal(weights[0][0], weights[0][1])


@pytest.mark.parametrize("hidden", [(7,), (7, 5), (3, 7, 2)])
def test_a_network_that_passes_on_is_its_first_linear_classifier(hidden):
    generator = torch.Generator().manual_seed(0)
    weights = initial_weights(4, hidden, initialisation="pass_through", generator=generator)
    first = initial_weights(4, hidden, generator=torch.Generator().manual_seed(0))[0]
    assert torch.equal(weights[0], first)
    network = AggregatedNetwork(weights)
    x = torch.randn(50, 4, generator=generator)
    linear = AggregatedNetwork([weights[0][:1]])
    # A neuron with weight 9 on one of d + 1 signs has the mean erf(9 / sqrt(2 (d + 1))) times that sign.
    factor = math.prod(math.erf(9 / math.sqrt(2 * (d + 1))) for d in hidden)
    torch.testing.assert_close(network(x), factor * linear(x), rtol=0, atol=1e-5)


def test_standard_normal_weights_have_variance_one_in_every_layer():
    generator = torch.Generator().manual_seed(0)
    weights = initial_weights(
        300, (100, 20), initialisation="standard_normal", generator=generator, replicas=(5,)
    )
    for weight in weights[:2]:
        assert weight[..., :-1].var().item() == pytest.approx(1, rel=0.05)
        assert (weight[..., -1] == 0).all()


def test_zero_initialisation_needs_no_generator():
    network = AggregatedNetwork.initialise(4, (3,), initialisation="zero")
    assert (network(torch.ones(2, 4)) == 0).all()


def test_repr_announces_the_aggregation():
    generator = torch.Generator().manual_seed(0)
    network = make_network((3, 2), aggregation=MonteCarlo(10, generator), replicas=(7,))
    assert "4-3-2-1, intercept=True, replicas=(7,), aggregation=MonteCarlo(n_samples=10)" in repr(network)


def test_the_sign_of_zero_is_minus_one():
    zero = torch.zeros(1)
    assert zero_one_loss(zero, torch.tensor([-1.0])).item() == 0
    assert zero_one_loss(zero, torch.tensor([1.0])).item() == 1


def test_weights_and_prior_are_copied():
    weights, prior = [torch.ones(1, 5)], [torch.zeros(1, 5)]
    network = AggregatedNetwork(weights, prior)
    weights[0].fill_(7)
    prior[0].fill_(7)
    assert network.divergence().item() == 2.5


def test_training_goes_on_after_the_prior_is_fixed():
    network = make_network()
    network.fix_prior()
    network(make_examples()).sum().backward()
    assert all(weight.grad is not None for weight in network.weights)


def test_a_shared_prior_becomes_one_per_replica_when_it_is_fixed():
    network = AggregatedNetwork(
        [torch.ones(2, 3, 5), torch.ones(2, 1, 4)], [torch.zeros(3, 5), torch.zeros(1, 4)]
    )
    assert (network.divergence() > 0).all()
    network.fix_prior()
    assert network.divergence().tolist() == [0, 0]


def test_second_derivatives_are_refused_rather_than_wrong():
    network = make_network()
    output = linear_loss(network(make_examples()), torch.ones(6)).mean()
    with pytest.raises(SecondDerivativeError, match="only supports first derivatives"):
        torch.autograd.grad(output, network.weights[0], create_graph=True)
    exact = make_network(aggregation="enumeration")
    loss = linear_loss(exact(make_examples()), torch.ones(6)).mean()
    (first,) = torch.autograd.grad(loss, exact.weights[0], create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), exact.weights[0])
    assert second.abs().max() > 0


def test_autocast_does_not_cost_digits():
    for hidden in ((), (3,)):
        network = make_network(hidden, dtype=torch.float32)
        x = make_examples(dtype=torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(network(x), network(x).float())
            automatic = network(x)
        assert torch.equal(automatic, network(x))


@pytest.mark.parametrize(("precision", "factor"), [("highest", 1), ("high", 2**13), ("medium", 2**16)])
def test_error_bound_knows_the_precision_of_products(precision, factor):
    network = make_network((), dtype=torch.float32)
    reference = network.error_bound()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        assert network.error_bound() == pytest.approx(min(2.0, factor * reference.item()))
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", ["highest", "high"])
def test_error_bound_holds_on_a_gpu_whatever_the_precision_of_products(precision):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        network = make_network((10,), n_features=30, dtype=torch.float32)
        x = make_examples(500, 30, dtype=torch.float32)
        exact = AggregatedNetwork([w.double() for w in network.weights])(x.double())
        output = network.to("cuda")(x.to("cuda")).cpu().double()
        assert (output - exact).abs().max() <= network.error_bound().cpu() + 1e-9
    finally:
        torch.set_float32_matmul_precision(before)


class TestBadInput:
    def test_examples(self):
        network = make_network()
        with pytest.raises(ShapeError, match=r"\(\.\.\., n, 4\), got \(6, 5\)"):
            network(make_examples(n_features=5))
        with pytest.raises(ShapeError, match=r"got \(4,\)"):
            network(torch.zeros(4, dtype=torch.float64))
        with pytest.raises(DtypeError, match=r"float64 on cpu, like the weights; got torch.float32"):
            network(make_examples(dtype=torch.float32))
        with pytest.raises(DtypeError, match="got ndarray"):
            network(make_examples().numpy())
        for bad in (torch.nan, torch.inf):
            x = make_examples()
            x[3, 2] = bad
            with pytest.raises(DomainError, match="x must be finite"):
                network(x)

    def test_replica_axes_of_examples(self):
        weights = [torch.zeros(3, 2, 5), torch.zeros(3, 1, 3)]
        for network in (AggregatedNetwork(weights), AggregatedNetwork(weights).sign_network()):
            with pytest.raises(ShapeError, match="do not broadcast with the replicas"):
                network(torch.zeros(2, 6, 4))

    def test_prepared_rows(self):
        network = make_network(intercept=False)
        rows = network.prepare(make_examples())
        with pytest.raises(ShapeError, match="have 4 columns"):
            network.output(rows[:, :3])
        with pytest.raises(DtypeError, match="Prepared rows must be"):
            network.output(rows.float())
        with pytest.raises(DtypeError, match="got ndarray"):
            network.output(rows.numpy())
        with pytest.raises(DomainError, match="length 1"):
            network.output(10 * rows)

    def test_losses(self):
        with pytest.raises(ShapeError, match="do not match"):
            linear_loss(torch.zeros(5), torch.ones(5, 1))
        with pytest.raises(DomainError, match="-1 and 1"):
            linear_loss(torch.zeros(2), torch.tensor([0.0, 1.0]))
        with pytest.raises(DomainError, match="output must be finite"):
            zero_one_loss(torch.tensor([torch.nan]), torch.tensor([-1.0]))

    def test_sign_network_refuses_nan(self):
        network = make_network().sign_network()
        with pytest.raises(DomainError, match="x must be finite"):
            network(torch.full((1, 4), torch.nan, dtype=torch.float64))

    @pytest.mark.parametrize("layer", [0, 1])
    def test_values_are_checked_in_every_layer(self, layer):
        network = make_network()
        rows = network.prepare(make_examples())
        with torch.no_grad():
            network.weights[layer][0, 0] = torch.nan
        with pytest.raises(DomainError, match="finite"):
            network.output(rows)

    def test_types_of_weights(self):
        for weights in (torch.zeros(1, 3), [[1.0, 2.0]], ["w"]):
            with pytest.raises(DtypeError, match=r"list of tensors|tensor of real numbers"):
                AggregatedNetwork(weights)
        for dtype in (torch.float16, torch.int64):
            with pytest.raises(DtypeError, match="float32, or all float64"):
                AggregatedNetwork([torch.zeros(1, 3, dtype=dtype)])
        mixed = [torch.zeros(2, 3), torch.zeros(1, 3, dtype=torch.float64)]
        with pytest.raises(DtypeError, match=r"layer 2 has torch\.float64"):
            AggregatedNetwork(mixed)
        with pytest.raises(DtypeError, match=r"prior of layer 1 must be torch\.float32"):
            AggregatedNetwork([torch.zeros(1, 3)], [torch.zeros(1, 3, dtype=torch.float64)])

    def test_row_of_zeros_without_intercept(self):
        with pytest.raises(DomainError, match="row of zeros"):
            make_network(intercept=False)(torch.zeros(2, 4, dtype=torch.float64))
        assert torch.isfinite(make_network(intercept=True)(torch.zeros(2, 4, dtype=torch.float64))).all()

    def test_extreme_features_keep_their_direction(self):
        network = make_network(intercept=False)
        x = make_examples()
        for scale in (1e-200, 1e200):
            torch.testing.assert_close(network(scale * x), network(x))

    def test_diverged_weights(self):
        network = make_network()
        with torch.no_grad():
            network.weights[0][0, 0] = torch.nan
        with pytest.raises(DomainError, match="learning rate"):
            network(make_examples())
        with pytest.raises(DomainError, match="weights of layer 1"):
            network.divergence()

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            ([], "at least one"),
            ([(3,)], "axes"),
            ([(3, 5), (1, 3)], "and the intercept make 4"),
            ([(3, 5), (0, 4)], "last layer has no neurons"),
            ([(2, 3, 5), (1, 4)], "same replica axes"),
            ([(1, 1)], "no inputs besides the intercept"),
        ],
    )
    def test_weights_that_do_not_fit(self, shapes, message):
        with pytest.raises(ShapeError, match=message):
            AggregatedNetwork([torch.zeros(shape) for shape in shapes])

    def test_prior_that_does_not_fit(self):
        weights = [torch.zeros(2, 3, 5), torch.zeros(2, 1, 4)]
        shared = AggregatedNetwork(weights, [torch.ones(3, 5), torch.ones(1, 4)])
        assert shared.divergence().tolist() == [0.5 * 19] * 2
        with pytest.raises(ShapeError, match="prior has 1 layers"):
            AggregatedNetwork(weights, [torch.zeros(3, 5)])
        with pytest.raises(ShapeError, match="prior of layer 2"):
            AggregatedNetwork(weights, [torch.zeros(3, 5), torch.zeros(1, 5)])
        for shape in ((3, 3, 5), (1, 2, 3, 5)):
            with pytest.raises(ShapeError, match="prior of layer 1"):
                AggregatedNetwork(weights, [torch.zeros(shape), torch.zeros(1, 4)])

    def test_sizes_and_names(self):
        with pytest.raises(DomainError, match="hidden_layer_sizes must be at least 1"):
            AggregatedNetwork.initialise(4, (0,), initialisation="zero")
        with pytest.raises(DtypeError, match="n_features must be a whole number"):
            AggregatedNetwork.initialise(4.5, initialisation="zero")
        with pytest.raises(UnknownNameError, match="xavier_normal, zero"):
            AggregatedNetwork.initialise(4, initialisation="xavier")
        for generator in (None, 3):
            with pytest.raises(OptionError, match="generator"):
                AggregatedNetwork.initialise(4, generator=generator)
        with pytest.raises(DtypeError, match=r"hidden_layer_sizes must be a sequence"):
            AggregatedNetwork.initialise(4, 10, initialisation="zero")
        with pytest.raises(DtypeError, match="replicas must be a sequence"):
            AggregatedNetwork.initialise(4, replicas=3, initialisation="zero")
