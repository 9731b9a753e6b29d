"""The sampled layer: its gradients are the paper's, its randomness is explicit."""

import math

import pytest
import torch

from pbgnet.aggregation import Enumeration, MonteCarlo, expected_sign, sign_probabilities, sign_vectors
from pbgnet.aggregation.monte_carlo_function import SampledMean
from pbgnet.exceptions import DomainError, DtypeError, OptionError, ShapeError, UncertifiedError
from pbgnet.kernels.sampled import monte_carlo_torch
from pbgnet.kernels.sampled.monte_carlo_torch import draw_signs


def make_generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def layer() -> tuple[torch.Tensor, torch.Tensor]:
    generator = make_generator(1)
    mean = 1.6 * torch.rand(2, 4, 5, generator=generator, dtype=torch.float64) - 0.8
    return mean, torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)


def test_gradcheck_in_the_weights(layer):
    mean, weight = layer
    assert torch.autograd.gradcheck(
        lambda w: SampledMean.apply(mean, w, 7, make_generator()), (weight.requires_grad_(),)
    )


def test_value_is_the_mean_over_the_signs_drawn(layer):
    mean, weight = layer
    s = 2 * draw_signs(mean, 7, make_generator()).double() - 1
    expected = torch.erf(torch.einsum("rntd,rmd->rntm", s, weight) / math.sqrt(2 * 5)).mean(dim=-2)
    torch.testing.assert_close(SampledMean.apply(mean, weight, 7, make_generator()), expected)


@pytest.mark.parametrize("gradients", ["off", "not asked for"])
def test_values_alone_do_not_prepare_gradients(layer, gradients, monkeypatch):
    """On a GPU that takes time, and for many rows more memory than there is for it."""
    mean, weight = layer
    expected = SampledMean.apply(mean, weight, 7, make_generator())

    class OnlyValues:
        evaluate = staticmethod(monte_carlo_torch.evaluate)

    monkeypatch.setattr(
        "pbgnet.aggregation.monte_carlo_function.find_kernel", lambda name, device: OnlyValues
    )
    weight.requires_grad_(gradients == "off")
    with torch.set_grad_enabled(gradients != "off"):
        assert torch.equal(MonteCarlo(7, make_generator())(mean, weight), expected)
    with pytest.raises(AttributeError, match="forward"):
        MonteCarlo(7, make_generator())(mean, weight.requires_grad_())


def test_gradient_in_the_means_is_that_of_the_reweighted_sample(layer):
    # Eq. 14 is the exact derivative of the importance-weighted mean over fixed sign vectors,
    # (1/T) sum_t prod_i psi_{s_i}(g) / psi_{s_i}(g0) erf(.), at g = g0: gradcheck's counterpart.
    mean, weight = layer
    s = 2 * draw_signs(mean, 7, make_generator()).double() - 1
    votes = torch.erf(s @ weight.mT.unsqueeze(1) / math.sqrt(2 * 5))

    def reweighted(g: torch.Tensor) -> torch.Tensor:
        ratio = ((1 + s * g.unsqueeze(-2)) / (1 + s * mean.unsqueeze(-2))).prod(dim=-1)
        return (ratio.unsqueeze(-1) * votes).mean(dim=-2)

    v = torch.randn(2, 4, 3, generator=make_generator(2), dtype=torch.float64)
    g = mean.clone().requires_grad_()
    (expected,) = torch.autograd.grad((reweighted(g) * v).sum(), g)
    g = mean.clone().requires_grad_()
    (got,) = torch.autograd.grad((SampledMean.apply(g, weight, 7, make_generator()) * v).sum(), g)
    torch.testing.assert_close(got, expected)


def test_gradients_are_the_exact_ones_when_every_sign_vector_comes_in_proportion(monkeypatch):
    # With fair coins and each of the 2^d vectors drawn once, both estimators are exact.
    mean = torch.zeros(1, 2, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(1, 3, 4, generator=make_generator(), dtype=torch.float64).requires_grad_()
    signs = (sign_vectors(4, dtype=torch.float64) > 0).expand(1, 2, -1, -1)
    monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.draw_signs", lambda *arguments: signs)
    value = SampledMean.apply(mean, weight, 16, make_generator())
    exact = Enumeration()(mean, weight)
    torch.testing.assert_close(value, exact)
    sampled_gradients = torch.autograd.grad(value.sum(), [mean, weight])
    for got, expected in zip(
        sampled_gradients, torch.autograd.grad(exact.sum(), [mean, weight]), strict=True
    ):
        torch.testing.assert_close(got, expected)


def test_chunks_of_samples_change_nothing(layer, monkeypatch):
    mean, weight = layer
    signs = draw_signs(mean, 50, make_generator(3))
    monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.draw_signs", lambda *arguments: signs)
    results = []
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.CHUNK_ELEMENTS", size)
        g, w = mean.clone().requires_grad_(), weight.clone().requires_grad_()
        value = SampledMean.apply(g, w, 50, make_generator(3))
        results.append((value, *torch.autograd.grad(value.sum(), [g, w])))
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            torch.testing.assert_close(got, expected)


def test_signs_drawn_in_chunks_have_the_given_means(monkeypatch):
    monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.CHUNK_ELEMENTS", 1000)
    mean = torch.tensor([[[-0.9, 0.0, 0.6]]], dtype=torch.float64)
    signs = draw_signs(mean, 40_001, make_generator())
    assert signs.shape == (1, 1, 40_001, 3)
    for part in (signs, signs[..., :300, :], signs[..., -301:, :]):
        found = 2 * part.double().mean(dim=-2) - 1
        deviation = torch.sqrt((1 - mean**2) / part.shape[-2])
        assert ((found - mean).abs() <= 4 * deviation).all()


def test_means_of_more_axes_than_one_give_what_each_gives_alone(layer):
    mean, weight = (tensor.unsqueeze(1) for tensor in layer)
    value = MonteCarlo(50, make_generator(4))(mean, weight)
    assert value.shape == (2, 1, 4, 3)
    assert torch.equal(value.squeeze(1), SampledMean.apply(*layer, 50, make_generator(4)))


def test_replicas_with_different_numbers_of_samples_give_what_each_gives_alone(layer, monkeypatch):
    mean, _ = layer
    drawn = draw_signs(mean, 50, make_generator(3))
    monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.CHUNK_ELEMENTS", 300)  # several chunks

    def value_and_gradients(replicas, n_samples, signs):
        monkeypatch.setattr("pbgnet.kernels.sampled.monte_carlo_torch.draw_signs", lambda *arguments: signs)
        g, w = (tensor[replicas].clone().requires_grad_() for tensor in layer)
        value = MonteCarlo(n_samples, make_generator())(g, w)
        return value, *torch.autograd.grad(value.square().sum(), [g, w])

    together = value_and_gradients(slice(None), (8, 50), drawn)
    for r, count in enumerate((8, 50)):
        alone = value_and_gradients(slice(r, r + 1), count, drawn[r : r + 1, :, :count])
        for found, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(found[r : r + 1], expected)


def test_the_numbers_of_samples_follow_their_replicas(layer):
    sampled = MonteCarlo((5, 7, 9), make_generator())
    assert sampled.take(torch.tensor([2, 0])).n_samples == (9, 5)
    assert sampled.take(slice(1, 3)).n_samples == (7, 9)
    assert [one.n_samples for one in sampled.of_replicas(3)] == [5, 7, 9]
    with pytest.raises(ShapeError, match="n_samples has 3 numbers, but there are 2 replicas"):
        sampled(*layer)
    with pytest.raises(ShapeError, match="n_samples has 3 numbers, but there are 2 replicas"):
        sampled.with_pullback(*layer)
    same = MonteCarlo(5, make_generator())
    assert same.take(torch.tensor([0])) is same
    assert same.of_replicas(2) == [same, same]


def test_same_generator_state_gives_the_same_result(layer):
    mean, weight = layer
    first, second, other = (
        expected_sign(mean, weight, method="monte_carlo", n_samples=50, generator=make_generator(seed))
        for seed in (7, 7, 8)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_impossible_signs_are_never_drawn(dtype):
    mean = torch.tensor([[-1.0, 1.0]], dtype=dtype)
    signs = draw_signs(mean, 20_000, make_generator())
    assert not signs[..., 0].any()
    assert signs[..., 1].all()


def test_draws_are_fine_enough_for_the_rarest_sign(monkeypatch):
    # The smallest uniform number must not pass for a sign of probability 0, and 24 bits are too coarse.
    drawn = []

    def lowest(shape, **options):
        drawn.append(options["dtype"])
        return torch.zeros(shape, dtype=options["dtype"])

    monkeypatch.setattr(torch, "rand", lowest)
    assert not draw_signs(torch.tensor([[-1.0]]), 5, make_generator()).any()
    assert draw_signs(torch.tensor([[-1.0 + 2**-23]]), 5, make_generator()).all()
    assert set(drawn) == {torch.float64}


def test_means_of_sign_probabilities_are_checked():
    with pytest.raises(DomainError, match="mean must lie in"):
        sign_probabilities(torch.tensor([3.0, torch.nan]))


@pytest.mark.parametrize("n_samples", [0, -5, (10, 0)])
def test_number_of_samples_must_be_positive(n_samples):
    with pytest.raises(DomainError, match="n_samples must be at least 1"):
        MonteCarlo(n_samples, make_generator())


@pytest.mark.parametrize("n_samples", [2.5, "many", True, (10, 2.5), [10]])
def test_number_of_samples_must_be_whole(n_samples):
    with pytest.raises(DtypeError, match="n_samples must be a whole number"):
        MonteCarlo(n_samples, make_generator())


def test_generator_is_required_and_checked(layer):
    with pytest.raises(OptionError, match="needs the option generator"):
        expected_sign(*layer, method="monte_carlo", n_samples=10)
    with pytest.raises(DtypeError, match=r"generator must be a torch.Generator, got int"):
        MonteCarlo(10, 42)


def test_a_random_estimate_has_no_proved_error(layer):
    with pytest.raises(UncertifiedError, match="fourier"):
        MonteCarlo(10, make_generator()).error_bound(layer[1])


def test_sign_probabilities_are_a_distribution_with_the_given_means(layer):
    mean, _ = layer
    probability = sign_probabilities(mean)
    torch.testing.assert_close(probability.sum(dim=-1), torch.ones(2, 4, dtype=torch.float64))
    torch.testing.assert_close(probability @ sign_vectors(5, dtype=torch.float64), mean)
