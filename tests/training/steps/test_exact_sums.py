"""Sums in whole numbers: right, of no order, and the same for any number of threads and workers."""

import itertools

import numpy as np
import pytest
import torch

from pbgnet.kernels import use_backend
from pbgnet.training.steps.exact_sums import ExactSum, equal_pieces, mean_of_pieces

# What a program of one or several workers trains: mini-batches in lanes, then L-BFGS.
PROGRAM = """
import sys
import numpy as np
import torch
from pbgnet.networks import AggregatedNetwork
from pbgnet.training.solvers import Course, Journal, Problem, fit, polish
from pbgnet.training.steps import Seeger, TrainingData
from pbgnet.workers import joined

def train():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 5))
    data = TrainingData.of(x, np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0), unit=True, device="cpu")
    first = AggregatedNetwork.initialise(5, (6,), generator=torch.Generator().manual_seed(1))
    network = AggregatedNetwork([torch.stack([w, w]).float() for w in first.weights])
    objective = Seeger(network.prior_weights, len(data), 0.05)
    rates = torch.tensor([0.1, 0.03], dtype=torch.float64)
    problem = Problem(network, data, objective, torch.tensor([3, 4]), rates)
    fit(problem, Course(2500, 3), Journal(), "test")
    after = [w.detach().clone() for w in network.weights]
    polish(problem, 8, Journal(), "test")
    return [w.numpy() for w in (*after, *(w.detach() for w in network.weights))]

if __name__ == "__main__":
    with joined() as workers:
        np.savez(f"{sys.argv[1]}/{workers.rank}.npz", *train())
"""


def trained(n_threads: int) -> list[np.ndarray]:
    names: dict = {"__name__": "program"}
    exec(PROGRAM, names)
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        return names["train"]()
    finally:
        torch.set_num_threads(before)


def test_threads_and_workers_leave_no_trace(start_workers, tmp_path, monkeypatch):
    # Threads are not worth waking for so little, and must be all the same.
    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1)
    processes = start_workers(PROGRAM, 2, tmp_path)
    alone, in_threads = trained(1), trained(2)
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    by_workers = [list(np.load(tmp_path / f"{rank}.npz").values()) for rank in range(2)]
    assert not np.array_equal(alone[0], alone[2]), "the second phase has done nothing"
    for found in (in_threads, *by_workers):
        assert all(np.array_equal(a, b) for a, b in zip(alone, found, strict=True))


def tensors(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.rand(2, dtype=torch.float64, generator=generator),
        torch.randn(2, 3, 4, generator=generator) * 10.0 ** (seed - 3),
    ]


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_sums_are_right_to_the_unit_and_have_no_order(backend):
    shares, found = [0.5, 0.25, 0.2, 0.05], []
    with use_backend(backend):
        for order in itertools.permutations(range(4)):
            total = ExactSum(tensors(0))
            for k in order:
                total.add(tensors(k), shares[k])
            found.append(total.values())
    for sums in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], sums, strict=True))
    for place, unit in enumerate((2.0**-50, 2.0**-40)):
        exact = sum(share * tensors(k)[place].double() for k, share in enumerate(shares))
        rounding = unit * 2 + exact.abs() * torch.finfo(tensors(0)[place].dtype).eps
        assert bool(((found[0][place].double() - exact).abs() <= rounding).all())


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_the_largest_values_do_not_overflow_and_larger_ones_are_no_numbers(backend):
    with use_backend(backend):
        total = ExactSum([torch.zeros(3, 2)])
        for share in (1 / 3, 1 / 3, 1 / 3):
            total.add([torch.tensor([[2.0**22, -(2.0**22)]]).repeat(3, 1)], share)
        assert total.values()[0].tolist() == [[2.0**22, -(2.0**22)]] * 3
        total.add([torch.tensor([[1.0, torch.inf], [2.0**22 + 1, 1.0], [0.5, 0.5]])], 0.0)
        total.add([torch.tensor([[1.0, 1.0], [1.0, torch.nan], [0.5, 0.5]])], 0.0)
    (values,) = total.values()
    assert values[:2].isnan().all()
    assert values[2].tolist() == [2.0**22, -(2.0**22)]


def test_pieces_have_the_shares_of_their_rows():
    pieces = equal_pieces(10, 4)
    assert [rows.indices(10)[:2] for rows, _ in pieces] == [(0, 4), (4, 8), (8, 10)]
    assert [share for _, share in pieces] == [0.4, 0.4, 0.2]


def test_an_error_on_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)

    def fail(piece):
        raise ValueError("no sum today")

    with pytest.raises(ValueError, match="today"):
        mean_of_pieces(fail, equal_pieces(10, 1), [torch.zeros(1)], operations=1e9)
