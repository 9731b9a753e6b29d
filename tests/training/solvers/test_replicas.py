"""The replica engine: hundreds of networks as if each were alone, whatever happens to the others."""

import itertools
import re

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Enumeration, MonteCarlo
from pbgnet.exceptions import MemoryLimitError, SmallerChunksWarning
from pbgnet.kernels import use_backend
from pbgnet.kernels.sampled import monte_carlo_torch
from pbgnet.networks import AggregatedNetwork, TanhNetwork
from pbgnet.training.solvers import Course, Problem
from pbgnet.training.solvers.callbacks import BestEpoch, Callback, EarlyStopping, LoopState, PlateauHalving
from pbgnet.training.solvers.hybrid import solve_hybrid
from pbgnet.training.solvers.journal import Journal
from pbgnet.training.steps import LINEAR, evaluation
from pbgnet.training.steps.data import Batches, TrainingData
from pbgnet.training.steps.evaluation import (
    batch_gradients,
    empirical_loss,
    loss_and_gradients,
    objective_value,
)
from pbgnet.training.steps.objectives import Catoni, LinearLoss, Seeger
from pbgnet.training.steps.stepper import Stepper

SEEDS, RATES = list(range(8)), [0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002]


class StopAt(Callback):
    """Finish each replica after a number of epochs of its own."""

    def __init__(self, ends):
        self.ends = ends
        self.sizes = []

    def on_epoch_end(self, state: LoopState) -> None:
        self.sizes.append(len(state.members))
        ends = torch.tensor(self.ends, device=state.finished.device)
        state.finished = state.finished | (ends <= state.epoch)


def assert_same_networks(together, r, alone, tolerance=0.0):
    for both, single in zip(together.weights, alone.weights, strict=True):
        torch.testing.assert_close(both[r].detach(), single[0].detach(), rtol=tolerance, atol=tolerance)


OBJECTIVES = {
    "seeger": lambda network: Seeger(network.prior_weights, 120, 0.05),
    "catoni": lambda network: Catoni(
        network.prior_weights,
        120,
        0.05,
        torch.zeros(len(network.weights[0]), dtype=torch.float64, device=network.weights[0].device),
    ),
    "loss": lambda network: LinearLoss.of(
        list(network.weights),
        torch.full((len(network.weights[0]),), 0.01, dtype=torch.float64, device=network.weights[0].device),
    ),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_replicas_end_where_separate_runs_end(train, device, name):
    together, history = train(SEEDS, RATES, device=device, objective=OBJECTIVES[name])
    for r in (0, 3, 7):
        alone, own = train([SEEDS[r]], [RATES[r]], device=device, objective=OBJECTIVES[name])
        # Products of matrices may round differently in company; the kernels do not.
        assert_same_networks(together, r, alone, tolerance=1e-9)
        assert history.of_replica(r)[-1]["objective"] == pytest.approx(own.of_replica(0)[-1]["objective"])


def test_replicas_of_the_hybrid_solver_end_where_separate_runs_end(make_data, make_network, device):
    data = make_data(device=device)

    def solve(replicas):
        network = make_network([SEEDS[r] for r in replicas], device=device)
        problem = Problem(
            network,
            data,
            Seeger(network.prior_weights, len(data), 0.05),
            torch.tensor([100 + r for r in replicas], device=device),
            torch.tensor([RATES[r] for r in replicas], dtype=torch.float64, device=device),
        )
        journal = Journal()
        solve_hybrid(problem, Course(batch_size=16, max_epochs=4, max_iterations=30), journal, "test")
        return network, journal.history.records[-1]

    together, record = solve(range(8))
    for r in (0, 3, 7):
        alone, own = solve([r])
        assert_same_networks(together, r, alone, tolerance=1e-5)
        assert record["objective"][r].item() == pytest.approx(own["objective"].item(), rel=1e-9)
        assert record["loss"][r].item() == pytest.approx(own["loss"].item(), rel=1e-5)


def test_a_rate_that_is_too_high_does_not_spoil_the_hybrid_solver(make_data, make_network):
    data, network = make_data(), make_network(SEEDS[:2], hidden=(3, 3))
    objective = Seeger(network.prior_weights, len(data), 0.05)
    first = objective_value(network, data, objective)
    rates = torch.tensor([1000.0, 0.01], dtype=torch.float64)
    problem = Problem(network, data, objective, torch.tensor([100, 101]), rates)
    solve_hybrid(problem, Course(batch_size=16, max_epochs=4, max_iterations=30), Journal(), "test")
    last = objective_value(network, data, objective)
    assert (last < first - 1e-3).all()


def test_the_plain_backend_trains_the_same_networks(train, device):
    fast, _ = train(SEEDS[:3], RATES[:3], device=device)
    with use_backend("torch"):  # on a GPU without a graph
        plain, _ = train(SEEDS[:3], RATES[:3], device=device)
    for got, wanted in zip(fast.weights, plain.weights, strict=True):
        torch.testing.assert_close(got.detach(), wanted.detach(), rtol=0, atol=1e-7)


def test_every_replica_has_its_own_plateau_and_its_own_end(train, device):
    # Deterministic callbacks on noisy losses: the schedules differ, and each is that of the separate run.
    def callbacks():
        return [PlateauHalving(1), EarlyStopping(3), BestEpoch()]

    together, history = train(SEEDS, RATES, epochs=25, device=device, callbacks=callbacks())
    rates = torch.stack([record["learning_rate"] for record in history.records])
    assert len({tuple(column.tolist()) for column in (rates / rates[0]).T}) > 1
    for r in range(len(SEEDS)):
        alone, own = train([SEEDS[r]], [RATES[r]], epochs=25, device=device, callbacks=callbacks())
        assert_same_networks(together, r, alone, tolerance=1e-8)
        alone_rates = [record["learning_rate"] for record in own.of_replica(0)]
        assert alone_rates == rates[: len(alone_rates), r].tolist()


def test_finished_replicas_are_left_behind_once_they_are_a_quarter(train, device):
    ends = [1, 2, 4, 5, 5, 6, 7, 8]
    stop = StopAt(ends)
    together, history = train(SEEDS, RATES, epochs=10, device=device, callbacks=[stop])
    assert stop.sizes == [8, 8, 6, 6, 6, 3, 2, 1]
    assert len(history.records) == 8
    for r, end in enumerate(ends):
        alone, _ = train([SEEDS[r]], [RATES[r]], epochs=end, device=device)
        assert_same_networks(together, r, alone, tolerance=1e-8)


def test_an_epoch_may_have_a_single_step(train, make_data, device):
    data = make_data(20, device=device)  # batches of 16
    network, history = train(SEEDS[:2], RATES[:2], epochs=3, data=data, device=device)
    alone, _ = train(SEEDS[:1], RATES[:1], epochs=3, data=data, device=device)
    assert len(history.records) == 3
    assert_same_networks(network, 0, alone, tolerance=1e-9)


def test_numbers_of_finished_replicas_stay_their_last_ones(train):
    _, history = train(SEEDS[:4], RATES[:4], epochs=6, callbacks=[StopAt([1, 1, 1, 9])])
    last = [record["objective"][0].item() for record in history.records]
    assert len(set(last)) == 1
    assert len({record["objective"][3].item() for record in history.records}) == 6


def test_the_best_epoch_survives_that_its_replica_is_left_behind(train):
    class Rising(Callback):
        """Make the first epoch the best one of the first two replicas."""

        def on_epoch_end(self, state):
            state.record["objective"] = state.record["objective"].clone()
            state.record["objective"][:2] = float(state.epoch)
            self.first = [w.clone() for w in state.weights] if state.epoch == 1 else self.first

    rising, best = Rising(), BestEpoch()
    network, _ = train(SEEDS[:3], RATES[:3], epochs=6, callbacks=[rising, best, StopAt([3, 3, 9])])
    assert best.epoch[:2].tolist() == [1, 1]
    for kept, weight in zip(rising.first, network.weights, strict=True):
        assert torch.equal(kept[:2], weight[:2].detach())


@pytest.mark.parametrize("hidden", [(), (3,), (4, 3)])
def test_written_out_derivatives_are_those_of_autograd(make_data, hidden, device):
    data = make_data(device=device)
    for aggregation in ("fourier", Enumeration()):
        network = AggregatedNetwork.initialise(
            4, hidden, generator=torch.Generator().manual_seed(0), replicas=(2,), dtype=torch.float64
        ).to(device)
        network = AggregatedNetwork(list(network.weights), aggregation=aggregation)
        check_against_autograd(network, data)


def test_written_out_derivatives_without_an_intercept(make_data):
    generator = torch.Generator().manual_seed(0)
    network = AggregatedNetwork.initialise(
        5, (4, 3), generator=generator, replicas=(2,), dtype=torch.float64, intercept=False
    )
    check_against_autograd(network, make_data())


def test_derivatives_of_the_tanh_network(make_data):
    generator = torch.Generator().manual_seed(0)
    network = TanhNetwork.initialise(4, (3,), generator=generator, replicas=(2,), dtype=torch.float64)
    check_against_autograd(network, make_data())


def check_against_autograd(network, data):
    rows, y = data.rows[:20].expand(2, -1, -1), data.y[:20].expand(2, -1)
    found = batch_gradients(network, list(network.weights), rows, y, LINEAR)
    expected = (0.5 - 0.5 * (y * network.output(rows, validate_args=False)).mean(dim=-1)).double()
    torch.testing.assert_close(found.loss, expected.detach())
    reference = torch.autograd.grad(expected.sum(), list(network.weights))
    for got, wanted in zip(found.by_weights, reference, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-12)


def test_sampled_networks_train_side_by_side_too(train, make_network, device):
    generator = torch.Generator(device).manual_seed(3)
    network = make_network(SEEDS[:4], device=device, aggregation=MonteCarlo(200, generator))
    _, history = train(SEEDS[:4], [0.1] * 4, epochs=8, network=network, device=device)
    first, last = (history.records[i]["objective"] for i in (0, -1))
    assert (last < first).all()


def test_batches_depend_on_seed_and_epoch_alone(device):
    data = TrainingData(torch.zeros(1000, 1, device=device), torch.ones(1000, device=device))
    seeds = torch.tensor([5, -3, 2**62, 0])
    many = Batches(data, 32, seeds.to(device))
    on_cpu = TrainingData(torch.zeros(1000, 1), torch.ones(1000))
    for epoch, r in itertools.product((0, 1, 149), range(4)):
        alone = Batches(on_cpu, 32, seeds[r : r + 1]).order(epoch)
        assert torch.equal(many.order(epoch)[:, r].cpu(), alone[:, 0])


def test_permutations_are_uniform():
    # Where row 0 goes, over many seeds and epochs: a chi-squared statistic of 19 degrees of freedom.
    n, data = 20, TrainingData(torch.zeros(20, 1), torch.ones(20))
    batches = Batches(data, n, torch.arange(500))
    places = torch.cat([(batches.order(epoch)[0] == 0).nonzero()[:, 1] for epoch in range(20)])
    counts = torch.bincount(places, minlength=n).double()
    assert ((counts - 500).square() / 500).sum() < 50  # exceeded with probability 1.3e-4
    # Neighbouring seeds and epochs have nothing to do with each other.
    keys = batches.order(0)[0].double()
    correlation = np.corrcoef(keys[:-1].flatten(), keys[1:].flatten())[0, 1]
    assert abs(correlation) < 0.04


@pytest.fixture(autouse=True)
def fresh_portions():
    evaluation._row_portion.cache_clear()
    yield
    evaluation._row_portion.cache_clear()


class Forgetful:
    """A network on a device with room for a few replicas or rows only."""

    def __init__(self, network, most_numbers):
        self.network, self.most = network, most_numbers
        self.largest = 0

    def __getattr__(self, name):
        return getattr(self.network, name)

    def _use(self, rows, weights):
        size = weights[0].shape[0] * rows.shape[-2]
        if size > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate a lot.")
        self.largest = max(self.largest, size)

    def output(self, rows, **options):
        self._use(rows, list(self.network.weights))
        return self.network.output(rows, **options)

    def output_with_pullback(self, rows, weights=None, replicas=None):
        self._use(rows, list(weights or self.network.weights))
        return self.network.output_with_pullback(rows, weights, replicas)


def test_memory_that_runs_out_makes_smaller_portions_and_the_same_result(train, make_network):
    expected, _ = train(SEEDS[:5], RATES[:5])
    scarce = Forgetful(make_network(SEEDS[:5]), 2 * 16)  # two networks with a batch of 16
    with pytest.warns(SmallerChunksWarning) as told:
        train(SEEDS[:5], RATES[:5], network=scarce)
    # Once for the rows of the first evaluation, once for the networks of a step.
    pieces = [re.search(r"with \d+ (\w+) at a time", str(warning.message)) for warning in told]
    assert sorted(found[1] for found in pieces if found) == ["networks", "rows"]
    assert len(told) == 2
    assert scarce.largest == 32
    for got, wanted in zip(scarce.network.weights, expected.weights, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


def test_smaller_portions_keep_the_number_of_samples_of_each_replica(train, make_network, monkeypatch):
    used = []
    forward = monte_carlo_torch.forward
    monkeypatch.setattr(
        monte_carlo_torch,
        "forward",
        lambda g, w, count, *rest: used.append(count) or forward(g, w, count, *rest),
    )
    network = make_network(SEEDS[:5])
    network.aggregation = MonteCarlo((1, 2, 3, 4, 5), torch.Generator().manual_seed(0))
    with pytest.warns(SmallerChunksWarning):
        train(SEEDS[:5], RATES[:5], network=Forgetful(network, 2 * 16))
    assert set(used) - {(1, 2, 3, 4, 5)} == {(1, 2), (3, 4), (5,)}  # evaluations take fewer rows instead


def test_memory_that_runs_out_in_an_evaluation(make_data, make_network):
    data, network = make_data(), make_network([0, 1])
    exact_loss, exact = loss_and_gradients(network, data)
    scarce = Forgetful(network, 2 * 40)
    with pytest.warns(SmallerChunksWarning, match=r"60 rows at a time, or fewer") as told:
        loss = empirical_loss(scarce, data)
    assert len(told) == 1
    torch.testing.assert_close(loss, exact_loss)
    loss, gradients = loss_and_gradients(scarce, data)  # the lesson is learned: no second warning
    torch.testing.assert_close([loss, *gradients], [exact_loss, *exact])
    assert scarce.largest == 60


def test_memory_for_not_even_one_is_an_error_with_advice(make_data, make_network):
    scarce = Forgetful(make_network([0, 1]), 1)
    with (
        pytest.warns(SmallerChunksWarning),
        pytest.raises(MemoryLimitError, match="not enough memory for even one of rows"),
    ):
        empirical_loss(scarce, make_data())


def test_other_errors_are_not_taken_for_a_lack_of_memory(make_data, make_network):
    class Broken(Forgetful):
        def output(self, rows, **options):
            raise RuntimeError("an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        empirical_loss(Broken(make_network([0]), 1), make_data())


class InterruptAt(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, state):
        if state.epoch == self.epoch:
            raise KeyboardInterrupt


def test_an_interrupt_ends_the_loop_with_the_best_weights(train):
    journal, best = Journal(), BestEpoch()
    interrupted, history = train(
        [0, 1], [0.1, 0.1], epochs=50, journal=journal, callbacks=[best, InterruptAt(4)]
    )
    assert journal.interrupted
    assert len(history.records) == 4
    short, _ = train([0, 1], [0.1, 0.1], epochs=4, callbacks=[BestEpoch()])
    for r in range(2):
        assert_same_networks(interrupted, r, AggregatedNetwork([w[r : r + 1] for w in short.weights]))


def test_an_interrupt_within_an_epoch_keeps_the_epochs_before(train, monkeypatch):
    steps = itertools.count()
    step = Stepper._step

    def interrupted_step(self):
        if next(steps) == 17:  # in the third epoch of seven steps
            raise KeyboardInterrupt
        step(self)

    short, _ = train([0], [0.1], epochs=2, callbacks=[BestEpoch()])
    monkeypatch.setattr(Stepper, "_step", interrupted_step)
    journal = Journal()
    network, history = train([0], [0.1], epochs=50, journal=journal, callbacks=[BestEpoch()])
    assert journal.interrupted
    assert len(history.records) == 2
    assert_same_networks(network, 0, short)


def test_a_replica_that_diverges_leaves_the_others_alone(train, make_network):
    network = make_network(SEEDS[:3])
    with torch.no_grad():
        network.weights[1][1] = torch.nan
    train(SEEDS[:3], RATES[:3], network=network, callbacks=[BestEpoch()])
    sound, _ = train(SEEDS[:3], RATES[:3], callbacks=[BestEpoch()])
    for got, wanted in zip(network.weights, sound.weights, strict=True):
        assert torch.equal(got[[0, 2]].detach(), wanted[[0, 2]].detach())
    assert torch.isnan(network.weights[1][1]).any()
