"""What every solver of the registry promises: a smaller bound, its own epochs, an end when asked."""

import pytest
import torch

from pbgnet.training import SOLVERS, Course, Journal
from pbgnet.training.solvers import Problem, descend
from pbgnet.training.steps import LinearLoss, Seeger, empirical_loss, objective_value

COURSE = Course(batch_size=16, max_epochs=4, max_iterations=10)


@pytest.fixture
def problem(make_data, make_network):
    data, network = make_data(), make_network([0, 1])
    rates = torch.tensor([0.1, 0.05], dtype=torch.float64)
    return Problem(network, data, Seeger(network.prior_weights, len(data), 0.05), torch.tensor([1, 2]), rates)


@pytest.mark.parametrize("name", SOLVERS)
def test_it_lowers_the_bound_of_every_replica_and_tells_the_epoch(problem, name):
    before = objective_value(problem.network, problem.data, problem.objective)
    journal = Journal()
    epoch = SOLVERS[name].solve(problem, COURSE, journal, "test")
    assert (objective_value(problem.network, problem.data, problem.objective) < before).all()
    assert epoch.shape == (2,)
    assert ((epoch >= 1) & (epoch <= COURSE.max_epochs)).all()
    assert all(record["phase"].startswith("test") for record in journal.history.records)


@pytest.mark.parametrize("name", SOLVERS)
def test_an_interrupt_ends_it_with_finite_weights(problem, name):
    class Impatient(Journal):
        def record(self, phase, step, *rest, **numbers):
            super().record(phase, step, *rest, **numbers)
            raise KeyboardInterrupt

    journal = Impatient()
    SOLVERS[name].solve(problem, COURSE, journal, "test")
    assert journal.interrupted
    assert len(journal.history.records) == 1
    assert all(torch.isfinite(weight).all() for weight in problem.network.weights)


@pytest.mark.parametrize("name", SOLVERS)
def test_names_are_their_keys(name):
    assert SOLVERS[name].name == name


def test_each_rule_keeps_the_weights_of_its_own_epoch_and_the_first_stays(problem):
    """The second rule counts the epochs backwards: its best one is the first."""
    objective = LinearLoss.of(list(problem.network.weights), torch.zeros(2, dtype=torch.float64))
    seen = []

    def measure(network, record, members):
        seen.append([w.detach().clone() for w in network.weights])
        falling = torch.full_like(record["loss"], -len(seen))
        return {"falling": falling, "rising": -falling}

    both = Problem(
        problem.network,
        problem.data,
        objective,
        problem.seeds,
        problem.learning_rate,
        measure,
        ("falling", "rising"),
    )
    picks = descend(both, COURSE, Journal(), "test")
    assert list(picks) == ["falling", "rising"]
    assert picks["falling"].epoch.tolist() == [4, 4]
    assert picks["rising"].epoch.tolist() == [1, 1]
    for rule, epoch in (("falling", 3), ("rising", 0)):
        for picked, then in zip(picks[rule].weights, seen[epoch], strict=True):
            assert torch.equal(picked, then)
    for weight, last in zip(problem.network.weights, seen[3], strict=True):
        assert torch.equal(weight, last)


def test_without_an_epoch_the_first_weights_are_picked(problem):
    before = empirical_loss(problem.network, problem.data)
    pick = descend(problem, Course(16, 0), Journal(), "test")["objective"]
    assert pick.epoch.tolist() == [0, 0]
    assert torch.equal(empirical_loss(problem.network, problem.data), before)


def test_a_history_goes_on_with_some_replicas():
    journal = Journal()
    journal.record("one", 1, 2, objective=torch.tensor([1.0, 2.0, 3.0]))
    journal.history.take(torch.tensor([2, 2, 0]))
    journal.record("two", 1, 2, objective=torch.tensor([4.0, 5.0, 6.0]))
    assert [r["objective"] for r in journal.history.of_replica(1)] == [3.0, 5.0]
    assert [r["phase"] for r in journal.history.of_replica(1)] == ["one", "two"]
