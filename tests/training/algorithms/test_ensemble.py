"""An ensemble: members that never see their fold, choices by the folds, and a classifier that is good."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pbgnet.aggregation import make_aggregation
from pbgnet.networks import (
    TWO_CLASSES,
    BinnedRows,
    as_part_of,
    make_code,
    prepare_rows,
    with_strong_values,
)
from pbgnet.preprocessing import BinnedTable, TablePreprocessor
from pbgnet.training import EnsembleCourse, EnsembleRecipe, Part, TrainingData, fit_ensemble
from pbgnet.training.algorithms.ensemble import _best, _Candidate, _Folds
from pbgnet.training.algorithms.ensemble_recipe import Setting
from pbgnet.training.algorithms.held_answers import HeldAnswers

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


def recipe_of(examples, course=QUICK, hidden=(6,), seed=0, parts=()):
    aggregation = make_aggregation("fourier")
    return EnsembleRecipe(examples, hidden, aggregation, 0.1, seed, seed + 1, course, parts=dict(parts))


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


def test_the_choice_is_what_loses_least_on_the_folds_one_candidate_or_a_pair_of_one_encoding():
    X, y = circle(150)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1]))
    choice = result.prior_choice
    assert len(choice.candidates) == 2 * 3
    assert choice.validation_loss <= min(one["validation_loss"] for one in choice.candidates)
    assert all(one in choice.candidates for one in choice.chosen)
    assert {one["encoding"] for one in choice.chosen} == {choice.encoding}, "these two cannot be mixed"
    assert result.network.architecture.n_members == 5 * len(choice.chosen)
    assert choice.margins.shape == (150,)
    assert choice.validation_loss == pytest.approx(np.mean(((1 - choice.margins) / 2) ** 2))
    assert choice.validation_error == np.mean(choice.margins <= 0)


def candidate(name, margins, read_in="both"):
    answers = HeldAnswers(np.array(margins), np.ones(len(margins)), TWO_CLASSES)
    return _Candidate(name, read_in, Setting(0.0), 0.0, [], answers, [])


def test_two_that_err_on_different_rows_are_better_together():
    one, two = candidate("one", [1.0, 1.0, -0.2]), candidate("two", [-0.2, 1.0, 1.0])
    far = candidate("far", [-0.2, 1.0, 1.0], read_in="range")
    steady = candidate("steady", [0.4, 0.4, 0.4])
    assert _best([one, steady, two], most=1) == (steady,)
    assert _best([one, steady, two], most=2) == (one, two)
    assert _best([one, far], most=2) == (one,), "what is read differently cannot be mixed"
    assert _best([candidate("lost", [np.nan]), candidate("found", [-1.0])], most=2)[0].encoding == "found"


def test_members_of_a_part_are_members_of_the_whole():
    X, y = circle(90)
    preprocessor, examples = examples_of(X, y, ("both", "standard"))
    rows, factor = as_part_of(examples["standard"].rows, examples["both"].rows)
    book = preprocessor.with_numbers("both").book_
    inputs = torch.from_numpy(np.append(book.outputs_without_steps, book.n_outputs))
    parts = {"values": Part("both", inputs, book.n_outputs + 1, factor)}
    examples = {"both": examples["both"], "values": TrainingData(rows, examples["standard"].y)}
    alone = recipe_of({"values": examples["values"]}, EnsembleCourse(n_steps=60, weight_decay=1e-4))
    apart, within = fit_ensemble(alone), fit_ensemble(replace(alone, parts=parts))
    assert (apart.prior_choice.encoding, within.prior_choice.encoding) == ("values", "both")
    whole = prepare_rows(preprocessor.encode(X), unit=True, intercept=True, dtype=torch.float64, device="cpu")
    with torch.no_grad():
        torch.testing.assert_close(
            within.network.output(whole),
            apart.network.output(rows.double(), validate_args=False),
            atol=1e-5,
            rtol=0,
        )
    separate, mixed = (fit_ensemble(recipe_of(examples, parts=given)).prior_choice for given in ({}, parts))
    assert mixed.encoding == "both"
    assert mixed.validation_loss <= separate.validation_loss, "more pairs to choose from"


def test_many_rows_choose_by_two_folds_and_then_train_the_others_of_one_candidate():
    X, y = circle(200)
    course = EnsembleCourse(n_steps=60, fewest_epochs=5, many_rows=100, n_members=4)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1], course))
    assert result.network.architecture.n_members == 4
    assert result.prior_choice.margins.shape == (200,), "all folds are judged in the end"
    (chosen,) = result.prior_choice.chosen
    least = min(result.prior_choice.candidates, key=lambda one: one["validation_loss"])
    assert (chosen["encoding"], chosen["weight_decay"]) == (least["encoding"], least["weight_decay"])


def test_wider_first_weights_are_those_of_deviation_1_times_a_factor():
    X, y = circle(50)
    course = EnsembleCourse(n_steps=1, fewest_epochs=1, weight_decay=0.0)
    one, three = (
        fit_ensemble(replace(recipe_of(examples_of(X, y, ("both",))[1], given), learning_rate=0.0))
        for given in (course, replace(course, deviation=3.0))
    )
    torch.testing.assert_close(three.network.weights[0], 3 * one.network.weights[0])
    torch.testing.assert_close(three.network.weights[1], one.network.weights[1])


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
    assert result.network.architecture.n_members == min(n, 5) * len(result.prior_choice.chosen)
    assert result.prior_choice.margins.size == (n if n > 1 else 0)


def test_the_history_is_that_of_the_chosen_members():
    X, y = circle(60)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1]))
    assert [record["epoch"] for record in result.history] == list(range(1, result.prior_choice.n_epochs + 1))
    losses = [record["log_loss"] for record in result.history]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
    assert {record["phase"] for record in result.history} == {"members"}


@pytest.mark.parametrize(("many_rows", "losses"), [(4000, {"log loss", "margins"}), (50, {"log loss"})])
def test_several_classes_go_on_with_their_margins_where_rows_are_few(many_rows, losses):
    X, _ = circle(90)
    places = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0)
    code = make_code("hadamard", 3)
    rows = prepare_rows(X, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    data = TrainingData(rows, torch.from_numpy(code.targets(places)).float())
    course = EnsembleCourse(max_epochs=4, many_rows=many_rows, weight_decay=1e-5)
    result = fit_ensemble(replace(recipe_of({"standard": data}), code=code, course=course))
    assert {one["loss"] for one in result.prior_choice.candidates} == losses
    phases = {record["phase"] for record in result.history}
    assert phases <= {"members", "members, margins"}
    assert all("margin_loss" in record for record in result.history if "margins" in record["phase"])


@pytest.mark.parametrize(("n", "batch", "decay"), [(100, 32, 3e-5), (1000, 64, 3e-6), (10_000, 256, 3e-7)])
def test_larger_tables_have_larger_batches_and_smaller_decays(n, batch, decay):
    course = EnsembleCourse()
    schedule = course.schedule(0.1, n, n)
    assert schedule.batch_size == batch
    assert course.decay_of(course.settings(n)[0], n) == pytest.approx(decay)
    assert schedule.n_epochs * (n // batch) >= 1600
    assert EnsembleCourse(max_epochs=3).schedule(0.1, n, n).n_epochs == 3
    assert EnsembleCourse(max_epochs=3000).schedule(0.1, n, n).n_epochs == 3000
    given = EnsembleCourse(weight_decay=0.5)
    assert [given.decay_of(setting, n) for setting in given.settings(n)] == [0.5]


def test_a_single_member_is_judged_by_a_fifth_of_the_rows():
    X, y = circle(100)
    result = fit_ensemble(recipe_of(examples_of(X, y)[1], replace(QUICK, n_members=1)))
    assert result.network.architecture.n_members == 1
    assert result.prior_choice.margins.shape == (20,)


def quarters(n, seed=0):
    """Four classes, one for each quarter of a plane."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X[:, 0] > 0) + 2 * (X[:, 1] > 0)


@pytest.mark.parametrize("name", ["hadamard", "one-against-rest"])
def test_an_ensemble_of_four_classes(name):
    code = make_code(name, 4)
    X, places = quarters(300)
    preprocessor, examples = examples_of(X, code.targets(places))
    result = fit_ensemble(replace(recipe_of(examples, EnsembleCourse(n_steps=300)), code=code))
    choice = result.prior_choice
    assert result.network.architecture.n_outputs == code.n_outputs
    assert choice.margins.shape == (300,)
    assert 1 < choice.temperature < 1000
    fresh_x, truth = quarters(2000, seed=1)
    table = preprocessor.with_numbers(choice.encoding).encode(fresh_x)
    rows = prepare_rows(table, unit=True, intercept=True, dtype=torch.float64, device="cpu")
    with torch.no_grad():
        error = float((code.decode(result.network.output(rows).numpy()) != truth).mean())
    assert error < 0.06
    assert abs(choice.validation_error - error) < 0.04


def test_classes_are_chosen_by_the_log_loss_of_held_rows():
    code = make_code("auto", 4)
    X, places = quarters(120)
    choice = fit_ensemble(replace(recipe_of(examples_of(X, code.targets(places))[1]), code=code)).prior_choice
    best = min(choice.candidates, key=lambda one: one["validation_loss"])
    assert choice.validation_loss <= best["validation_loss"] < np.log(4), "two together may lose less"
    two = fit_ensemble(recipe_of(examples_of(X, np.where(places > 1, 1.0, -1.0))[1])).prior_choice
    assert two.temperature is None


QUICK_MANY = EnsembleCourse(
    very_many_rows=400, sample_rows=300, max_epochs=6, batch_size=32, speeds=(1.0, 2.0)
)


def very_many(n=500, course=QUICK_MANY, seed=0):
    """A recipe whose examples are a sample; `everything` gives all rows, in strong values."""
    X, y = circle(n)
    preprocessor, examples = examples_of(X, y)
    book, asked = preprocessor.with_numbers("both").book_, []

    def everything(encoding):
        asked.append(encoding)
        data = examples[encoding]
        if encoding != "both":
            return data, None
        rows, factors = with_strong_values(data.rows, book)
        return replace(data, rows=rows), Part("both", torch.arange(len(factors)), len(factors), factors)

    sample = {name: data.take(slice(0, course.sample_rows)) for name, data in examples.items()}
    table = {name: preprocessor.with_numbers(name).encode(X) for name in examples}
    return replace(recipe_of(sample, course, seed=seed), everything=everything), table, y, asked


def test_of_very_many_rows_a_sample_chooses_and_all_are_trained_on():
    recipe, tables, y, asked = very_many()
    result = fit_ensemble(recipe)
    choice = result.prior_choice
    assert len(choice.candidates) == 2 * 2 * 2, "encodings, decays and speeds"
    best = min(choice.candidates, key=lambda one: one["validation_loss"])
    (chosen,) = choice.chosen
    assert asked == [best["encoding"]] == [chosen["encoding"]]
    assert chosen["speed"] == best["speed"]
    assert chosen["weight_decay"] == pytest.approx(best["weight_decay"] * 240 / 400), "by the number of rows"
    assert choice.margins.shape == (500,), "every row is held once"
    assert {record["phase"] for record in result.history} == {"members"}
    assert len(result.history) == 6
    # What the folds say is what the members answer on rows of their own encoding.
    assert result.network.architecture.n_members == 5
    rows = prepare_rows(tables[choice.encoding], unit=True, intercept=True, dtype=torch.float64, device="cpu")
    with torch.no_grad():
        errors = np.mean(result.network.output(rows).numpy() * y <= 0)
    assert errors <= choice.validation_error + 0.05
    assert choice.validation_error < 0.2


def test_no_member_of_very_many_rows_sees_its_fold():
    X, y = circle(500)
    _, examples = examples_of(X, y, ("both",))
    course = replace(QUICK_MANY, weight_decay=1e-4, speeds=(1.0,), max_epochs=2)
    held = _Folds.of(recipe_of(examples, course)).held[0].numpy()
    other = y.copy()
    other[held] *= -1
    changed = examples_of(X, other, ("both",))[1]
    one, two = (fit_ensemble(recipe_of(given, course)).network.weights[0] for given in (examples, changed))
    assert torch.equal(one[0], two[0])
    assert not torch.equal(one[1], two[1])


def test_blocks_of_rows_train_as_well(monkeypatch):
    X, y = circle(600)
    _, examples = examples_of(X, y, ("both",))
    assert isinstance(examples["both"].rows, BinnedRows)
    course = replace(QUICK_MANY, max_epochs=15, weight_decay=1e-4, speeds=(1.0,))
    whole = fit_ensemble(recipe_of(examples, course))
    monkeypatch.setattr("pbgnet.training.algorithms.ensemble.SCATTERED_CELLS", 1)
    monkeypatch.setattr("pbgnet.training.algorithms.ensemble.BLOCK_ROWS", 50)
    monkeypatch.setattr("pbgnet.training.algorithms.ensemble.TOGETHER_CELLS", 450)
    assert _Folds.of(recipe_of(examples, course)).pools.blocks == replace(
        _Folds.of(recipe_of(examples, course)).pools.blocks, n_blocks=12, together=3
    )
    blocks = fit_ensemble(recipe_of(examples, course))
    assert not torch.equal(whole.network.weights[0], blocks.network.weights[0])
    assert abs(whole.prior_choice.validation_error - blocks.prior_choice.validation_error) < 0.06


@pytest.mark.parametrize(
    ("pool", "batch", "epochs"),
    [(52_428, 1024, 24), (80_000, 1024, 24), (400_000, 1024, 8), (4_000_000, 8192, 8)],
)
def test_very_many_rows_are_seen_a_few_times_in_large_batches(pool, batch, epochs):
    schedule = EnsembleCourse().for_sample().schedule(0.1, pool, pool)
    assert (schedule.rate, schedule.batch_size, schedule.n_epochs) == (0.1, batch, epochs)
    paces = [schedule.pace(epochs * share) for share in (0.0, 0.05, 0.1, 0.55, 1.0)]
    assert paces == pytest.approx([0.01, 0.51 * 0.95, 0.9, 0.45, 0.0])
    assert not EnsembleCourse().schedule(0.1, 99_999, 80_000).falls_by_step
