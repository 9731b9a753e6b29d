"""Runs trained side by side: each as if alone, on the right rows, at the epoch its rule picks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pbgnet.experiments.runs import batch as module
from pbgnet.experiments.runs.batch import batches_of, train_batch
from pbgnet.networks import TanhNetwork
from pbgnet.training import SOLVERS, Journal
from pbgnet.training.algorithms import trainings
from pbgnet.training.solvers import paper_adam

CPU = torch.device("cpu")
TRAININGS = ["mlp", "loss", "bound", "pretrained"]
PICKS = {
    "mlp": {"validation"},
    "loss": {"validation", "bound"},
    "bound": {"objective"},
    "pretrained": {"objective"},
}


@pytest.fixture
def spy_on_adam(monkeypatch):
    """Call something with every problem that Adam has solved, its course and its phase, in order."""

    def arrange(seen):
        descend = paper_adam.descend

        def spy(problem, course, journal, phase):
            picks = descend(problem, course, journal, phase)
            seen(problem, course, phase)
            return picks

        for place in (paper_adam, trainings):
            monkeypatch.setattr(place, "descend", spy)

    return arrange


@pytest.fixture
def problems(spy_on_adam):
    """Every problem that is solved, in order."""
    solved = []
    spy_on_adam(lambda problem, course, phase: solved.append(problem))
    return solved


@pytest.fixture
def judged(monkeypatch):
    """Every network that is judged, as copies of its weights, and what it is judged on."""
    seen, judge = [], module.judge

    def spy(network, run, certified, test):
        seen.append(([w.detach().clone() for w in network.weights], network, certified, test))
        return judge(network, run, certified, test)

    monkeypatch.setattr(module, "judge", spy)
    return seen


def as_set(rows):
    return {tuple(row) for row in rows.tolist()}


def test_batches_hold_what_differs_in_learning_rate_and_weight_decay_alone(spec):
    base = spec("loss")
    together = [replace(base, learning_rate=r, weight_decay=d) for r in (0.1, 0.2) for d in (0.0, 0.3)]
    other_fields = {
        "dataset": "x",
        "split_seed": 5,
        "n_train": 7,
        "scaling": "none",
        "training": "mlp",
        "hidden_layers": 2,
        "hidden_size": 9,
        "n_samples": 3,
        "batch_size": 8,
        "seed": 4,
        "objective": "seeger",
        "solver": "hybrid",
        "max_epochs": 9,
        "plateau_patience": 9,
        "stopping_patience": 9,
        "pretraining_epochs": 9,
        "validation_fraction": 0.3,
        "prior_fraction": 0.3,
        "delta": 0.01,
        "n_priors": 1,
        "constant": "maurer",
        "n_predictions": 9,
    }
    apart = [replace(base, **{name: value}) for name, value in other_fields.items()]
    mixed = [together[0], *apart[:10], *together[1:3], *apart[10:], together[3]]
    batches = batches_of(mixed)
    assert batches == [together, *([run] for run in apart)]


@pytest.mark.parametrize("training", TRAININGS)
def test_a_run_in_a_batch_gives_the_numbers_it_gives_alone(breast, grid, close_results, training):
    runs = grid(training, max_epochs=6)
    together = train_batch(runs, lambda _: breast, CPU)
    assert len(together) == len(runs)
    for run, numbers in zip(runs, together, strict=True):
        close_results(train_batch([run], lambda _: breast, CPU)[0], numbers)
    first, *others = (numbers[min(PICKS[training])]["train_loss"] for numbers in together)
    assert all(first != other for other in others)


@pytest.mark.parametrize("n_samples", [None, 5])
@pytest.mark.parametrize("training", TRAININGS)
def test_every_training_has_its_picks_and_the_same_numbers_every_time(breast, grid, training, n_samples):
    runs = grid(training, n_samples=None if training == "mlp" else n_samples)
    results = train_batch(runs, lambda _: breast, CPU)
    assert all(result.keys() == PICKS[training] for result in results)
    assert train_batch(runs, lambda _: breast, CPU) == results


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("change", [{"seed": 1}, {"split_seed": 1}])
def test_other_seeds_give_other_networks(breast, spec, judged, training, change):
    for run in (spec(training), spec(training, **change)):
        train_batch([run], lambda _: breast, CPU)
    (one, *_), *_, (two, *_) = judged
    assert not torch.allclose(one[0], two[0])


def test_every_use_of_a_seed_has_a_stream_of_its_own(spec):
    uses = (
        module.WEIGHTS,
        module.BATCHES,
        module.PRIOR_BATCHES,
        module.VALIDATION,
        module.PRIOR_ROWS,
        module.SAMPLING,
    )
    assert len({module.seed_of(spec(), use) for use in uses}) == 6


@pytest.mark.parametrize("training", TRAININGS)
def test_runs_of_a_batch_start_at_the_same_weights_and_see_the_same_batches(
    breast, grid, problems, judged, training
):
    train_batch(grid(training), lambda _: breast, CPU)
    assert all(len(set(problem.seeds.tolist())) == 1 for problem in problems)
    network = judged[0][1]
    if training in ("loss", "bound"):
        for prior in network.prior_weights:
            assert torch.equal(prior, prior[:1].expand_as(prior))


@pytest.mark.parametrize("training", ["mlp", "loss"])
def test_a_fifth_of_the_rows_validates_and_the_others_train(breast, grid, problems, judged, training):
    results = train_batch(grid(training), lambda _: breast, CPU)
    (problem,) = problems
    _, network, certified, test = judged[0]
    assert len(problem.data) == 240
    assert len(certified) == 300
    assert len(test) == 100
    used, everything = as_set(problem.data.rows), as_set(certified.rows)
    assert used < everything
    held = torch.tensor([tuple(row) not in used for row in certified.rows.tolist()])
    assert held.sum() == 60
    for (weights, *_), pick in zip(judged, results[0], strict=True):
        kind = type(network)
        output = kind(weights).output(certified.rows[held])
        expected = (0.5 - 0.5 * certified.y[held] * output).double().mean(dim=-1)
        found = [result[pick]["validation_loss"] for result in results]
        np.testing.assert_allclose(found, expected.detach(), rtol=1e-5)


@pytest.mark.parametrize("fraction", [0.5, 0.3])
def test_a_pretrained_prior_never_sees_the_rows_it_is_certified_on(breast, grid, problems, judged, fraction):
    results = train_batch(grid("pretrained", prior_fraction=fraction), lambda _: breast, CPU)
    before, after = problems
    _, _, certified, _ = judged[0]
    n_prior = round(300 * fraction)
    assert len(before.data) == n_prior
    assert len(after.data) == len(certified) == 300 - n_prior
    assert as_set(after.data.rows) == as_set(certified.rows)
    assert not as_set(before.data.rows) & as_set(certified.rows)
    everything = module._prepared(breast, True, CPU)[0]
    assert as_set(before.data.rows) | as_set(certified.rows) == as_set(everything.rows)
    assert after.objective.n == len(certified)
    assert {result["objective"]["n"] for result in results} == {300 - n_prior}


def test_the_prior_of_a_pretrained_run_is_where_pretraining_ended(breast, grid, spy_on_adam, judged):
    ends = []

    def seen(problem, course, phase):
        ends.append((phase, course.max_epochs, [w.detach().clone() for w in problem.network.weights]))

    spy_on_adam(seen)
    runs = grid("pretrained", pretraining_epochs=3, max_epochs=5)
    train_batch(runs, lambda _: breast, CPU)
    (phase, epochs, trained), (last_phase, last_epochs, _) = ends
    assert (phase, epochs, last_phase, last_epochs) == ("prior", 3, "bound", 5)
    network = judged[0][1]
    for prior, weight in zip(network.prior_weights, trained, strict=True):
        assert torch.equal(prior, weight)
    assert not torch.equal(trained[0][0], trained[0][1])  # the prior depends on the learning rate
    assert not torch.equal(network.prior_weights[0], network.weights[0])


@pytest.mark.parametrize("training", TRAININGS)
def test_rates_decays_and_patience_are_those_of_the_runs(breast, grid, training):
    journal = Journal()
    runs = grid(training, max_epochs=40, plateau_patience=2, stopping_patience=6)
    train_batch(runs, lambda _: breast, CPU, journal)
    records = [record for record in journal.history.records if record["phase"] != "prior"]
    assert records[0]["learning_rate"].tolist() == [run.learning_rate for run in runs]
    if training in ("mlp", "loss"):
        decays = torch.tensor([run.weight_decay for run in runs], dtype=torch.float64)
        for record in records:
            torch.testing.assert_close(record["objective"], record["loss"] + decays * record["penalty"])
    objective = torch.stack([record["objective"] for record in records])
    rates = torch.stack([record["learning_rate"] for record in records])
    assert (rates[-1] < rates[0]).any()
    for r in range(len(runs)):
        # Until training stops, the rate is halved in the epoch after 2 without a new minimum.
        best, waited, halved, stopped = np.inf, 0, 0, 0
        for epoch in range(len(records)):
            assert rates[epoch, r] == pytest.approx(rates[0, r] / 2**halved)
            better = objective[epoch, r] < best
            best = min(best, objective[epoch, r].item())
            waited, stopped = (0, 0) if better else (waited + 1, stopped + 1)
            if stopped >= 6:
                break
            if waited >= 2:
                waited, halved = 0, halved + 1


def test_no_more_epochs_are_trained_than_asked_for(breast, spec):
    journal = Journal()
    train_batch([spec("pretrained", max_epochs=5, pretraining_epochs=3)], lambda _: breast, CPU, journal)
    assert [record["phase"] for record in journal.history.records] == ["prior"] * 3 + ["bound"] * 5
    for record in journal.history.records[:3]:  # a prior is trained by the loss, without weight decay
        assert torch.equal(record["objective"], record["loss"])


def course(journal, name, phase):
    """One number over the epochs, shape (epochs, R)."""
    return torch.stack([record[name] for record in journal.history.records if record["phase"] == phase])


@pytest.mark.parametrize("n_samples", [None, 5])
def test_each_rule_picks_the_epoch_where_its_number_was_smallest_in_training(breast, grid, n_samples):
    journal = Journal()
    runs = grid("loss", rates=(0.3, 0.03), max_epochs=8, stopping_patience=20, n_samples=n_samples)
    results = train_batch(runs, lambda _: breast, CPU, journal)
    for pick in ("validation", "bound"):
        numbers = course(journal, pick, "loss")
        epochs = [result[pick]["epoch"] for result in results]
        assert epochs == (numbers.argmin(dim=0) + 1).tolist()
        if n_samples is None:  # the weights of that epoch, not only its number
            kept = course(journal, "validation", "loss")[torch.tensor(epochs) - 1, range(len(runs))]
            found = [result[pick]["validation_loss"] for result in results]
            np.testing.assert_allclose(found, kept, rtol=1e-7)
    assert [r["bound"]["epoch"] for r in results] != [r["validation"]["epoch"] for r in results]


def test_the_bound_of_an_epoch_is_that_of_its_batches_and_counts_all_rows(breast, grid, judged):
    """The weights that were picked have the divergence that stands behind the bound of their epoch."""
    journal = Journal()
    runs = grid("loss", max_epochs=6)
    results = train_batch(runs, lambda _: breast, CPU, journal)
    epochs = torch.tensor([result["bound"]["epoch"] for result in results]) - 1
    loss, bound = (course(journal, name, "loss")[epochs, range(len(runs))] for name in ("loss", "bound"))
    divergence = torch.tensor([result["bound"]["divergence"] for result in results])
    budget = (divergence + np.log(2 * np.sqrt(300) * runs[0].n_priors / runs[0].delta)) / 300
    kl = loss * (loss / bound).log() + (1 - loss) * ((1 - loss) / (1 - bound)).log()
    torch.testing.assert_close(kl.float(), budget.float(), rtol=1e-4, atol=0)
    assert {result[pick]["n"] for result in results for pick in result} == {300}


@pytest.mark.parametrize("objective", ["catoni", "seeger"])
@pytest.mark.parametrize("training", ["bound", "pretrained"])
def test_the_objective_picks_the_epoch_of_bound_runs(breast, grid, training, objective):
    journal = Journal()
    runs = grid(training, rates=(1.0, 0.1), max_epochs=8, objective=objective)
    results = train_batch(runs, lambda _: breast, CPU, journal)
    values, penalties = (course(journal, name, "bound") for name in ("objective", "penalty"))
    best = values.argmin(dim=0)
    assert [result["objective"]["epoch"] for result in results] == (best + 1).tolist()
    divergence = [result["objective"]["divergence"] for result in results]
    np.testing.assert_allclose(divergence, penalties[best, range(len(runs))], rtol=1e-4)


def test_the_constant_of_catoni_is_learned_towards_its_optimum(breast, spec, problems):
    run = spec("bound", max_epochs=30, learning_rate=0.05, n_priors=1)
    (result,) = train_batch([run], lambda _: breast, CPU)
    (problem,) = problems
    c, best = problem.objective.log_c.exp().item(), result["objective"]["c"]
    assert abs(np.log(best)) > 0.2  # 1 is where it starts
    assert abs(np.log(c / best)) < 0.5 * abs(np.log(best))


def test_the_two_forms_of_the_bound_are_trained_differently(breast, spec):
    results = [
        train_batch([spec("bound", objective=name)], lambda _: breast, CPU)[0]
        for name in ("catoni", "seeger")
    ]
    assert results[0]["objective"]["divergence"] != results[1]["objective"]["divergence"]


@pytest.mark.parametrize("training", ["bound", "pretrained", "loss"])
def test_the_share_of_delta_is_what_training_pays(breast, spec, problems, training):
    runs = [spec(training, n_priors=n, objective="seeger") for n in (1, 1000)]
    results = [train_batch([run], lambda _: breast, CPU)[0] for run in runs]
    if training != "loss":
        assert [p.objective.delta for p in problems if p.objective.is_linear is False] == pytest.approx(
            [0.05, 0.05 / 1000]
        )
    pick = "bound" if training == "loss" else "objective"
    assert results[0][pick]["bound"] < results[1][pick]["bound"]


def test_rows_are_of_length_one_except_for_tanh_networks(breast, spec, judged):
    for training in TRAININGS:
        train_batch([spec(training)], lambda _: breast, CPU)
    for _, network, certified, test in judged:
        lengths = torch.cat([certified.rows, test.rows]).norm(dim=-1)
        unit = torch.allclose(lengths, torch.ones_like(lengths), atol=1e-5)
        assert unit != isinstance(network, TanhNetwork)
        assert certified.rows.shape[1] == 31


def test_hidden_layers_have_the_number_and_size_of_the_run(breast, spec, judged):
    train_batch([spec("bound", hidden_layers=2, hidden_size=5)], lambda _: breast, CPU)
    assert [tuple(w.shape) for w in judged[0][0]] == [(1, 5, 31), (1, 5, 6), (1, 1, 6)]


@pytest.mark.parametrize("training", TRAININGS)
def test_a_training_that_is_cut_short_has_no_results(breast, spec, training):
    class Impatient(Journal):
        def record(self, phase, step, *rest, **numbers):
            super().record(phase, step, *rest, **numbers)
            if step == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_batch([spec(training)], lambda _: breast, CPU, Impatient())


def test_restarts_have_one_prior_and_their_own_batches(breast, spec, problems):
    runs = [spec("pretrained", restart=restart, pretraining_epochs=2) for restart in (0, 1)]
    assert batches_of(runs) == [runs]
    results = train_batch(runs, lambda _: breast, CPU)
    pretraining, training = problems
    assert len(pretraining.seeds) == 1
    assert training.seeds[0] != training.seeds[1]
    for prior in training.objective.anchors:
        assert torch.equal(prior[0], prior[1])
    assert results[0]["objective"]["divergence"] != results[1]["objective"]["divergence"]


def test_the_hybrid_solver_ends_at_a_smaller_bound(breast, spec):
    run = spec("bound", objective="seeger", max_epochs=8)
    adam, hybrid = (
        train_batch([replace(run, solver=solver)], lambda _: breast, CPU)[0]["objective"]
        for solver in ("adam", "hybrid")
    )
    assert hybrid["bound"] < adam["bound"]
    assert hybrid["epoch"] == SOLVERS["hybrid"].course.max_epochs
