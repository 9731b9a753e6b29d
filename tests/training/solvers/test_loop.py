"""The fit loop: replicas as if alone, schedules per replica, the record of what happened."""

import itertools

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.networks import prepare_rows
from pbgnet.networks.sparse import SparseRows
from pbgnet.training.solvers.callbacks import BestEpoch, EarlyStopping, LinearDecay, LoopState, PlateauHalving
from pbgnet.training.steps.adam import ReplicaAdam
from pbgnet.training.steps.data import Batches, TrainingData
from pbgnet.training.steps.evaluation import CHUNK_NUMBERS, empirical_loss, loss_and_gradients
from pbgnet.training.steps.objectives import LinearLoss, Seeger


def test_replicas_train_as_they_would_alone(train):
    seeds, rates = [0, 1, 2], [0.1, 0.05, 0.01]
    together, history = train(seeds, rates)
    for r, (seed, rate) in enumerate(zip(seeds, rates, strict=True)):
        alone, own = train([seed], [rate])
        for both, single in zip(together.weights, alone.weights, strict=True):
            torch.testing.assert_close(both[r], single[0], rtol=1e-7, atol=1e-9)
        assert history.of_replica(r)[-1]["objective"] == pytest.approx(own.of_replica(0)[-1]["objective"])


def test_the_bound_falls(train):
    _, history = train([0], [0.1], epochs=10)
    bounds = [record["objective"] for record in history.of_replica(0)]
    assert bounds[-1] < 0.8 * bounds[0]


def test_records_hold_loss_penalty_objective_and_rate(train):
    _, history = train([0, 1], [0.1, 0.2], epochs=2)
    record = history.of_replica(1)[0]
    assert {"phase", "epoch", "loss", "penalty", "objective", "learning_rate"} <= set(record)
    assert record["learning_rate"] == 0.2
    assert [r["epoch"] for r in history.of_replica(0)] == [1, 2]


def test_finished_replicas_keep_their_weights(train):
    class FinishFirst(EarlyStopping):
        def on_epoch_end(self, state):
            state.finished = torch.tensor([True, False])
            self.seen = [w.detach().clone() for w in state.weights] if state.epoch == 1 else self.seen

    callback = FinishFirst()
    network, history = train([0, 1], [0.1, 0.1], epochs=3, callbacks=[callback])
    assert len(history.records) == 3
    for before, after in zip(callback.seen, network.weights, strict=True):
        assert torch.equal(before[0], after[0])
        assert not torch.equal(before[1], after[1])


def test_adam_takes_the_steps_of_torch():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64)
    mine, theirs = start.clone(), [start[r].clone().requires_grad_() for r in range(2)]
    adam = ReplicaAdam([mine], [torch.zeros_like(start)], [1.0])
    one, zero = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    optimisers = [torch.optim.Adam([theirs[r]], lr=rate) for r, rate in enumerate((0.1, 0.01))]
    for i in range(20):
        gradient = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64)
        adam.step(
            [gradient], torch.tensor([0.1, 0.01], dtype=torch.float64), one, zero, torch.tensor([i + 1])
        )
        for r, optimiser in enumerate(optimisers):
            theirs[r].grad = gradient[r]
            optimiser.step()
    for r in range(2):
        torch.testing.assert_close(mine[r], theirs[r].detach())


def run_callback(callback, values, rate=1.0):
    """Feed a callback one value per epoch and replica; values has shape (epochs, R)."""
    values = torch.tensor(values, dtype=torch.float64)
    count = values.shape[1]
    state = LoopState(
        [torch.zeros(count, 1, 1)],
        torch.arange(count),
        torch.full((count,), rate, dtype=torch.float64),
        torch.zeros(count, dtype=torch.bool),
    )
    rates, finished = [], []
    for epoch, value in enumerate(values, start=1):
        state.epoch, state.record = epoch, {"objective": value}
        state.weights[0].fill_(epoch)
        callback.on_epoch_end(state)
        rates.append(state.learning_rate.tolist())
        finished.append(state.finished.tolist())
    callback.on_fit_end(state.weights)
    return state, rates, finished


def test_plateau_halves_the_rate_of_the_stuck_replica_only():
    _, rates, _ = run_callback(PlateauHalving(2), [[1, 5], [2, 4], [2, 3], [2, 2], [2, 1]])
    assert [r for r, _ in rates] == [1, 1, 0.5, 0.5, 0.25]
    assert [r for _, r in rates] == [1] * 5


def test_early_stopping_ends_the_stuck_replica_only():
    _, _, finished = run_callback(EarlyStopping(3), [[1, 5], [1, 4], [1, 3], [1, 2], [1, 1]])
    assert [f for f, _ in finished] == [False, False, False, True, True]
    assert not any(f for _, f in finished)


def test_best_epoch_restores_the_weights_of_each_minimum():
    callback = BestEpoch()
    state, _, _ = run_callback(callback, [[3, 1], [1, 2], [2, 3]])
    assert callback.epoch.tolist() == [2, 1]
    assert state.weights[0].flatten().tolist() == [2, 1]


def test_linear_decay_ends_at_its_share():
    _, rates, _ = run_callback(LinearDecay(5, final=0.1), [[1]] * 5)
    assert rates[-1][0] == pytest.approx(0.1)
    assert all(later <= earlier for (earlier,), (later,) in itertools.pairwise(rates))


def test_an_epoch_visits_each_row_at_most_once_and_in_another_order_each_time():
    data = TrainingData(torch.arange(50.0).reshape(50, 1), torch.ones(50))
    batches = Batches(data, 8, torch.tensor([0, 1]))
    epochs = [
        torch.cat([batches.at(index)[0] for index in batches.order(epoch)], dim=1)[..., 0]
        for epoch in range(2)
    ]
    for epoch in epochs:
        assert epoch.shape == (2, 48)
        assert all(len(set(row.tolist())) == 48 for row in epoch)
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[0][0], epochs[0][1])


def test_loss_and_gradient_do_not_depend_on_the_chunks(monkeypatch, make_data, make_network):
    data, network = make_data(), make_network([0, 1])
    results = []
    for size in (1, 1000, 1 << 24):
        monkeypatch.setitem(CHUNK_NUMBERS, "cpu", size)
        loss, gradients = loss_and_gradients(network, data)
        torch.testing.assert_close(loss, empirical_loss(network, data))
        results.append([loss, *gradients])
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            torch.testing.assert_close(got, expected)


def test_sparse_rows_train_as_dense_ones(train):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4)) * (rng.random((120, 4)) < 0.4)
    y = torch.where(torch.from_numpy(x[:, 0]) > 0, 1.0, -1.0)
    networks = []
    for matrix in (x, sparse.csr_array(x)):
        rows = prepare_rows(matrix, unit=True, intercept=True, dtype=torch.float64, device="cpu")
        networks.append(train([0, 1], [0.1, 0.05], data=TrainingData(rows, y))[0])
    assert isinstance(rows, SparseRows)
    for dense, thin in zip(networks[0].weights, networks[1].weights, strict=True):
        torch.testing.assert_close(dense, thin, rtol=0, atol=1e-10)


def test_weight_decay_shrinks_the_weights_of_its_replica(train):
    network, _ = train(
        [0, 0],
        [0.1, 0.1],
        epochs=5,
        objective=lambda n: LinearLoss.of(list(n.weights), torch.tensor([0.0, 1.0], dtype=torch.float64)),
    )
    lengths = sum(w.square().sum(dim=(1, 2)) for w in network.weights)
    assert lengths[1] < 0.2 * lengths[0]


def test_slopes_are_taken_at_a_running_average_of_the_loss(train):
    seen = []

    class Recording(Seeger):
        def slopes(self, loss, penalty):
            seen.append(loss.item())
            return super().slopes(loss, penalty)

    _, history = train([0], [0.1], epochs=6, objective=lambda n: Recording(n.prior_weights, 120, 0.05))
    last = history.of_replica(0)[-1]["loss"]
    assert seen[0] > 2 * last  # the loss has fallen, and the average with it
    assert abs(sum(seen[-7:]) / 7 - last) < 0.1 * seen[0]
    assert len(set(seen)) == len(seen)


def test_ramp_weighs_the_penalty(train):
    free, bound = (train([0], [0.1], epochs=6, ramp=lambda epoch, w=w: w)[1] for w in (0.0, 1.0))
    assert free.of_replica(0)[-1]["penalty"] > 1.5 * bound.of_replica(0)[-1]["penalty"]
