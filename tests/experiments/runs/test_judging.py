"""The numbers of a network, against formulas written down once more: sums over sign vectors, bisection."""

import itertools
import math

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Fourier, MonteCarlo
from pbgnet.exceptions import SmallerChunksWarning
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.runs.judging import judge
from pbgnet.networks import AggregatedNetwork, TanhNetwork, prepare_rows
from pbgnet.training.steps import evaluation
from pbgnet.training.steps.data import TrainingData

R, D, WIDTHS = 3, 4, (3, 2)


@pytest.fixture
def data():
    def make(n, seed, unit=True):
        generator = np.random.default_rng(seed)
        x = generator.normal(size=(n, D))
        y = np.where(x[:, 0] + 0.3 * generator.normal(size=n) > 0, 1.0, -1.0)
        rows = prepare_rows(x, unit=unit, intercept=True, dtype=torch.float32, device="cpu")
        return TrainingData(rows, torch.as_tensor(y, dtype=torch.float32))

    return make


@pytest.fixture
def weights():
    def make(seed):
        generator = torch.Generator().manual_seed(seed)
        sizes = [D, *WIDTHS, 1]
        return [torch.randn(R, high, low + 1, generator=generator) for low, high in itertools.pairwise(sizes)]

    return make


def aggregate(weights, rows):
    """G by sums over all sign vectors, in float64 (Eqs. 4 and 16); rows have length 1."""
    first, *above = (w.double().numpy() for w in weights)
    erf = np.vectorize(math.erf)
    mean = erf(first @ rows.double().numpy().T / math.sqrt(2))  # (m, n)
    for weight in above:
        width = len(mean)
        total = 0.0
        for signs in itertools.product([-1, 1], repeat=width):
            s = np.array([*signs, 1.0])
            probability = np.prod(0.5 + 0.5 * s[:-1, None] * mean, axis=0)
            total = total + erf(weight @ s / math.sqrt(2 * (width + 1)))[:, None] * probability
        mean = total
    return mean[0]


def tanh_network(weights, rows):
    values = rows.double().numpy()[:, :-1]
    for weight in weights:
        values = np.tanh(np.column_stack([values, np.ones(len(values))]) @ weight.double().numpy().T)
    return values[:, 0]


def loss_and_error(output, y):
    y = y.double().numpy()
    return np.mean(0.5 - 0.5 * y * output), np.mean(np.sign(output) != y)


def divergence_of(weights, prior):
    """Half squared distances, a layer as often as there are neurons above it (Eq. 17)."""
    total, copies = 0.0, 1
    for weight, start in zip(reversed(weights), reversed(prior), strict=True):
        total += 0.5 * copies * float((weight.double() - start.double()).pow(2).sum())
        copies *= weight.shape[0]
    return total


def kl(q, p):
    return (q * math.log(q / p) if q > 0 else 0) + (1 - q) * math.log((1 - q) / (1 - p))


def bound_of(loss, divergence, n, delta):
    budget = (divergence + math.log(2 * math.sqrt(n) / delta)) / n
    low, high = loss, 1 - 1e-15
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(loss, middle) < budget else (low, middle)
    return low


def test_numbers_of_the_aggregate_are_those_of_the_formulas(spec, data, weights):
    train, test = data(120, 0), data(70, 1)
    posterior, prior = weights(0), [w + 0.3 * v for w, v in zip(weights(0), weights(9), strict=True)]
    run = spec("bound", n_priors=5, delta=0.02)
    numbers = judge(AggregatedNetwork(posterior, prior), run, train, test)
    assert all(values.shape == (R,) and values.dtype == torch.float64 for values in numbers.values())
    for r in range(R):
        mine, start = [w[r] for w in posterior], [w[r] for w in prior]
        found = {name: values[r].item() for name, values in numbers.items()}
        for name, part in (("train", train), ("test", test)):
            loss, error = loss_and_error(aggregate(mine, part.rows), part.y)
            assert found[f"{name}_loss"] == pytest.approx(loss, abs=1e-6)
            assert found[f"{name}_error"] == pytest.approx(error)
        divergence = divergence_of(mine, start)
        assert found["divergence"] == pytest.approx(divergence, rel=1e-5)
        assert found["n"] == 120
        loss = found["train_loss"]
        expected = bound_of(loss, found["divergence"], 120, 0.02 / 5)
        assert expected <= found["bound"] <= expected + 1e-6  # rounded outward
        assert 1 / found["c"] == pytest.approx(1 / optimal_c(found, run, 120), rel=1e-3)
        assert not any(name.startswith("sampled_") for name in found)


def optimal_c(found, run, n):
    """The C where Catoni's bound is smallest, by search over a fine grid."""
    budget = (found["divergence"] + math.log(2 * math.sqrt(n) * run.n_priors / run.delta)) / n
    c = np.exp(np.linspace(-7, 4, 200_001))
    return c[np.argmin(-np.expm1(-c * found["train_loss"] - budget) / -np.expm1(-c))]


def test_the_constant_of_maurer_can_be_that_of_the_run(spec, data, weights):
    train, test = data(120, 0), data(70, 1)
    network = AggregatedNetwork(weights(0), weights(1))
    paper, maurer = (
        judge(network, spec("bound", constant=constant), train, test) for constant in ("paper", "maurer")
    )
    assert (maurer["bound"] < paper["bound"]).all()
    assert torch.equal(maurer["divergence"], paper["divergence"])


def test_numbers_of_a_tanh_network_are_losses_and_errors_alone(spec, data, weights):
    train, test = data(120, 0, unit=False), data(70, 1, unit=False)
    posterior = weights(0)
    numbers = judge(TanhNetwork(posterior), spec("mlp"), train, test)
    assert numbers.keys() == {"train_loss", "train_error", "test_loss", "test_error"}
    for r in range(R):
        for name, part in (("train", train), ("test", test)):
            loss, error = loss_and_error(tanh_network([w[r] for w in posterior], part.rows), part.y)
            assert numbers[f"{name}_loss"][r].item() == pytest.approx(loss, abs=1e-5)
            assert numbers[f"{name}_error"][r].item() == pytest.approx(error)


def sampled(posterior, prior, n_samples=20, seed=0):
    return AggregatedNetwork(
        posterior,
        prior,
        aggregation=MonteCarlo(n_samples, torch.Generator().manual_seed(seed)),
    )


def test_exact_numbers_of_a_sampled_run_are_those_of_the_exact_aggregate(spec, data, weights):
    train, test, posterior, prior = data(120, 0), data(70, 1), weights(0), weights(1)
    exact = judge(AggregatedNetwork(posterior, prior, aggregation=Fourier()), spec("bound"), train, test)
    both = judge(sampled(posterior, prior), spec("bound", n_samples=20), train, test)
    assert exact.keys() < both.keys()
    for name, values in exact.items():
        assert torch.equal(values, both[name]), name
    assert all(name.startswith("sampled_") for name in both.keys() - exact.keys())


def test_sampled_numbers_are_means_over_repeated_predictions(spec, data, weights):
    train, test, posterior, prior = data(120, 0), data(70, 1), weights(0), weights(1)
    found = judge(sampled(posterior, prior), spec("bound", n_samples=20, n_predictions=4), train, test)
    network = sampled(posterior, prior)
    repeats = {name: [] for name in ("train_loss", "train_error", "test_loss", "test_error")}
    for _ in range(4):
        for name, part in (("train", train), ("test", test)):
            with torch.no_grad():
                output = network.output(part.rows).double()
            repeats[f"{name}_loss"].append((0.5 - 0.5 * part.y * output).mean(dim=-1))
            repeats[f"{name}_error"].append((output.sign() != part.y).double().mean(dim=-1))
    for name, values in repeats.items():
        stacked = torch.stack(values)
        assert found[f"sampled_{name}"].tolist() == pytest.approx(stacked.mean(dim=0).tolist(), abs=1e-6)
        deviation = stacked.std(dim=0, correction=0)
        assert found[f"sampled_{name}_deviation"].tolist() == pytest.approx(deviation.tolist(), abs=1e-6)
    for r in range(R):
        loss, divergence = found["sampled_train_loss"][r].item(), found["divergence"][r].item()
        expected = bound_of(loss, divergence, 120, 0.05 / 4)
        assert expected <= found["sampled_bound"][r].item() <= expected + 1e-6
    assert found["sampled_train_loss_deviation"].min() > 0


def test_rows_in_small_portions_give_the_same_numbers(spec, data, weights, monkeypatch):
    train, test = data(120, 0), data(70, 1)
    network = AggregatedNetwork(weights(0), weights(1))
    whole = judge(network, spec("bound"), train, test)
    monkeypatch.setitem(evaluation.CHUNK_NUMBERS, "cpu", 7 * 16 * R * max(WIDTHS))
    for name, values in judge(network, spec("bound"), train, test).items():
        torch.testing.assert_close(values, whole[name], rtol=1e-6, atol=1e-9)


def test_memory_that_runs_out_changes_no_number(spec, data, weights, monkeypatch):
    train, test = data(120, 0), data(70, 1)
    network = AggregatedNetwork(weights(0), weights(1))
    whole = judge(network, spec("bound"), train, test)
    monkeypatch.setitem(evaluation.CHUNK_NUMBERS, "cpu", 50 * 16 * R * max(WIDTHS))
    evaluation._row_portion.cache_clear()
    calls, output = [], AggregatedNetwork.output

    def output_once_short_of_memory(self, rows, **options):
        calls.append(len(rows))
        if len(calls) == 2:
            raise MemoryError
        return output(self, rows, **options)

    monkeypatch.setattr(AggregatedNetwork, "output", output_once_short_of_memory)
    with pytest.warns(SmallerChunksWarning, match="25 rows at a time"):
        numbers = judge(network, spec("bound"), train, test)
    assert calls[:3] == [50, 50, 25]
    for name, values in numbers.items():
        torch.testing.assert_close(values, whole[name], rtol=1e-6, atol=1e-9)


def test_a_network_that_diverged_has_no_bound_and_does_not_take_the_others_with_it(data, weights):
    sound, broken = weights(0), weights(0)
    broken[1][1] = torch.nan
    run = RunSpec("moons")
    numbers = [
        judge(AggregatedNetwork(w, weights(1)), run, data(60, 1), data(40, 2)) for w in (sound, broken)
    ]
    for name in ("bound", "train_loss"):
        assert torch.isnan(numbers[1][name][1])
        torch.testing.assert_close(numbers[1][name][[0, 2]], numbers[0][name][[0, 2]])
