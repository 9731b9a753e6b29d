"""What the tests of training share: a small problem, networks by seed, and the devices there are."""

import pytest
import torch

from pbgnet.networks import AggregatedNetwork, prepare_rows
from pbgnet.training.solvers import Course, Journal, Problem, fit
from pbgnet.training.steps.data import TrainingData
from pbgnet.training.steps.objectives import Seeger


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture
def make_data():
    def make(n=120, d=4, seed=0, device="cpu", dtype=torch.float64) -> TrainingData:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(n, d, generator=generator, dtype=torch.float64)
        y = torch.where(x[:, 0] + 0.5 * x[:, 1] > 0, 1.0, -1.0)
        rows = prepare_rows(x.numpy(), unit=True, intercept=True, dtype=dtype, device=device)
        return TrainingData(rows, y.to(device, dtype))

    return make


@pytest.fixture
def make_network():
    def make(seeds, d=4, hidden=(3,), device="cpu", dtype=torch.float64, **options) -> AggregatedNetwork:
        networks = [
            AggregatedNetwork.initialise(
                d, hidden, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
            )
            for seed in seeds
        ]
        stacked = zip(*(n.weights for n in networks), strict=True)
        return AggregatedNetwork([torch.stack(ws).to(device, dtype) for ws in stacked], **options)

    return make


@pytest.fixture
def train(make_data, make_network):
    """Train networks of these seeds with these rates; return the network and its history."""

    def run(
        seeds,
        rates,
        epochs=3,
        *,
        data=None,
        network=None,
        objective=None,
        device="cpu",
        journal=None,
        **options,
    ):
        data = data or make_data(device=device)
        network = network or make_network(seeds, device=device)
        journal = journal or Journal()
        problem = Problem(
            network,
            data,
            objective(network) if objective else Seeger(network.prior_weights, len(data), 0.05),
            torch.tensor([100 + seed for seed in seeds], device=device),
            torch.tensor(rates, dtype=torch.float64, device=device),
        )
        fit(problem, Course(16, epochs), journal, "test", **options)
        return network, journal.history

    return run
