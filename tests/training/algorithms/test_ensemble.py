"""An ensemble: members that never see their fold, choices by the folds, and a classifier that is good."""

import numpy as np
import pytest
import torch

from pbgnet.aggregation import make_aggregation
from pbgnet.networks import prepare_rows
from pbgnet.preprocessing import BinnedTable, TablePreprocessor
from pbgnet.training import EnsembleCourse, EnsembleRecipe, TrainingData, fit_ensemble
from pbgnet.training.algorithms.ensemble import _Folds

QUICK = EnsembleCourse(n_steps=60, fewest_epochs=5)


def circle(n, seed=0):
    """Labels that no linear classifier can tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where((X[:, :2] ** 2).sum(1) > 1.4, 1.0, -1.0)


def examples_of(X, y, encodings=("standard", "both")):
    preprocessor = TablePreprocessor().fit(X)
    codes = preprocessor.encode(X).codes
    tables = {name: BinnedTable(codes, preprocessor.with_numbers(name).book_) for name in encodings}
    return preprocessor, {
        name: TrainingData.of(table, y, unit=True, device="cpu") for name, table in tables.items()
    }


def recipe_of(examples, course=QUICK, hidden=(6,), seed=0):
    return EnsembleRecipe(examples, hidden, make_aggregation("fourier"), 0.1, seed, seed + 1, course)


def test_no_member_is_trained_on_the_rows_that_judge_it():
    X, y = circle(103)
    folds = _Folds.of(recipe_of(examples_of(X, y)[1]))
    assert torch.equal(torch.cat(folds.held).sort().values, torch.arange(103)), "every row judges once"
    for pool, held in zip(folds.pools, folds.held, strict=True):
        assert not set(pool.tolist()) & set(held.tolist())
        assert len(set(pool.tolist())) == len(pool) >= 103 - 21 - 1


def test_labels_of_a_fold_do_not_reach_its_member():
    X, y = circle(100)
    _, examples = examples_of(X, y, ("both",))
    recipe = recipe_of(examples)
    held = _Folds.of(recipe).held[0]
    other = y.copy()
    other[held] *= -1
    changed = recipe_of(examples_of(X, other, ("both",))[1], EnsembleCourse(n_steps=60, weight_decay=1e-4))
    same = recipe_of(examples, EnsembleCourse(n_steps=60, weight_decay=1e-4))
    one, two = (fit_ensemble(given).network.weights[0] for given in (same, changed))
    assert torch.equal(one[0], two[0])
    assert not torch.equal(one[1], two[1])


def test_the_same_seed_gives_the_same_ensemble_and_another_another():
    X, y = circle(80)
    _, examples = examples_of(X, y)
    one, two, other = (fit_ensemble(recipe_of(examples, seed=seed)) for seed in (0, 0, 5))
    for a, b in zip(one.network.weights, two.network.weights, strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.network.weights[1], other.network.weights[1])


def test_the_choice_is_the_candidate_with_the_smallest_loss_on_the_folds():
    X, y = circle(150)
    choice = fit_ensemble(recipe_of(examples_of(X, y)[1])).prior_choice
    assert len(choice.candidates) == 2 * 3
    best = min(choice.candidates, key=lambda one: one["validation_loss"])
    assert (best["encoding"], best["weight_decay"]) == (choice.encoding, choice.weight_decay)
    assert choice.margins.shape == (150,)
    assert choice.validation_error == np.mean(choice.margins <= 0)


def test_many_rows_choose_by_one_fold_and_then_train_the_others():
    X, y = circle(200)
    course = EnsembleCourse(n_steps=60, fewest_epochs=5, many_rows=100, n_members=4)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1], course))
    assert result.network.architecture.n_members == 4
    assert result.prior_choice.margins.shape == (200,), "all folds are judged in the end"


def test_it_learns_what_no_linear_classifier_can():
    X, y = circle(600)
    fresh_x, fresh_y = circle(2000, seed=1)
    preprocessor, examples = examples_of(X, y)
    result = fit_ensemble(recipe_of(examples, EnsembleCourse(), (20,)))
    table = preprocessor.with_numbers(result.prior_choice.encoding).encode(fresh_x)
    rows = prepare_rows(table, unit=True, intercept=True, dtype=torch.float64, device="cpu")
    with torch.no_grad():
        error = float((result.network.output(rows).numpy() * fresh_y <= 0).mean())
    assert error < 0.06
    assert abs(result.prior_choice.validation_error - error) < 0.04, "folds tell what is to come"


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_handful_of_rows_is_enough_to_go_through(n):
    X, y = circle(n)
    result = fit_ensemble(recipe_of(examples_of(X, y, ("standard",))[1]))
    assert result.network.architecture.n_members == min(n, 5)
    assert result.prior_choice.margins.size == (n if n > 1 else 0)


def test_the_history_is_that_of_the_chosen_members():
    X, y = circle(60)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1]))
    assert [record["epoch"] for record in result.history] == list(range(1, result.prior_choice.n_epochs + 1))
    losses = [record["log_loss"] for record in result.history]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
    assert {record["phase"] for record in result.history} == {"members"}


@pytest.mark.parametrize(("n", "batch", "decay"), [(100, 32, 3e-5), (1000, 64, 3e-6), (10_000, 256, 3e-7)])
def test_larger_tables_have_larger_batches_and_smaller_decays(n, batch, decay):
    course = EnsembleCourse()
    assert course.batch_size_of(n) == batch
    assert course.weight_decays(n)[0] == pytest.approx(decay)
    assert course.n_epochs(n) * (n // batch) >= 800
    assert EnsembleCourse(max_epochs=3).n_epochs(n) == 3
    assert EnsembleCourse(weight_decay=0.5).weight_decays(n) == (0.5,)
