import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.datasets import (
    PAPER_DATASETS,
    SCALINGS,
    Dataset,
    SourceRecord,
    certified_split,
    load_dataset,
    paper_split,
    training_subset,
)
from pbgnet.exceptions import DomainError, DtypeError, UnknownNameError

SEEDS = st.integers(0, 2**40)


def toy(n: int, seed: int = 0) -> Dataset:
    """Two measured columns far from 0, a rare bit and a constant."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(50, 9, n), rng.exponential(3000, n), rng.random(n) < 0.1, np.full(n, 0.1)]
    return Dataset(
        name="toy",
        X=np.column_stack(columns).astype(np.float32),
        y=2 * rng.integers(0, 2, n) - 1,
        label_names=("no", "yes"),
        feature_names=("a", "b", "c", "d"),
        source=SourceRecord("generated"),
        numeric=(0, 1),
        standardised_in_paper=True,
    )


@pytest.fixture(params=["paper", "certified"])
def protocol(request):
    return {"paper": paper_split, "certified": certified_split}[request.param]


@given(n=st.integers(4, 90), seed=SEEDS)
def test_every_row_is_used_once_and_keeps_its_label(n, seed):
    dataset = toy(n)
    for split in (paper_split(dataset, seed), certified_split(dataset, seed)):
        assert sorted([*split.train_rows, *split.test_rows]) == list(range(n))
        assert len(split.test_rows) == np.ceil(n / 4)
        assert sorted([*split.prior_rows, *split.certified_rows]) == list(range(len(split.train_rows)))
        assert np.array_equal(split.y_train, dataset.y[split.train_rows])
        assert np.array_equal(split.y_test, dataset.y[split.test_rows])
        back = split.X_test[:, split.scaling.columns] * split.scaling.scale + split.scaling.mean
        np.testing.assert_allclose(
            back, dataset.X[np.ix_(split.test_rows, split.scaling.columns)], rtol=1e-4, atol=1e-2
        )


@given(n=st.integers(4, 90), seed=SEEDS)
def test_both_protocols_draw_the_same_rows(n, seed):
    dataset = toy(n)
    paper, certified = paper_split(dataset, seed), certified_split(dataset, seed)
    assert np.array_equal(paper.train_rows, certified.train_rows)
    assert np.array_equal(paper.test_rows, certified.test_rows)


def test_seeds_decide_and_nothing_else(protocol):
    dataset = toy(80)
    one, again, other = protocol(dataset, 5), protocol(dataset, 5), protocol(dataset, 6)
    for field in ("X_train", "X_test", "train_rows", "prior_rows"):
        assert np.array_equal(getattr(one, field), getattr(again, field))
    assert not np.array_equal(one.train_rows, other.train_rows)
    assert protocol is paper_split or not np.array_equal(one.prior_rows, other.prior_rows)


def test_rows_for_training_are_drawn_evenly():
    dataset = toy(40)
    counts, priors = np.zeros(40), np.zeros(40)
    for seed in range(400):
        split = certified_split(dataset, seed)
        counts[split.train_rows] += 1
        priors[split.train_rows[split.prior_rows]] += 1
    # binomial deviations are 8.7 and 9.7; six of them leave room for 80 counts
    assert np.abs(counts - 300).max() < 52
    assert np.abs(priors - 150).max() < 58


def change(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """Replace these rows by others of quite another size, and turn their labels."""
    X, y = dataset.X.copy(), dataset.y.copy()
    X[rows] = 1e4 - 3 * X[rows]
    y[rows] *= -1
    return dataclasses.replace(dataset, X=X, y=y)


@pytest.mark.parametrize("scaling", SCALINGS)
@given(seed=SEEDS, n=st.integers(8, 60))
def test_certified_preprocessing_knows_nothing_of_the_certified_and_test_rows(scaling, seed, n):
    dataset = toy(n)
    split = certified_split(dataset, seed, scaling=scaling)
    unseen = np.concatenate([split.train_rows[split.certified_rows], split.test_rows])
    changed = certified_split(change(dataset, unseen), seed, scaling=scaling)
    for field in ("columns", "mean", "scale"):
        assert np.array_equal(getattr(split.scaling, field), getattr(changed.scaling, field))
    assert np.array_equal(split.X_train[split.prior_rows], changed.X_train[split.prior_rows])
    assert np.array_equal(split.prior_rows, changed.prior_rows)
    assert split.protocol == "certified"


def test_the_papers_preprocessing_does_know_them():
    dataset = toy(60)
    split = paper_split(dataset, 0)
    changed = paper_split(change(dataset, split.test_rows[:1]), 0)
    assert not np.array_equal(split.scaling.mean, changed.scaling.mean)
    assert split.protocol == "paper"


@given(seed=SEEDS)
def test_fitted_rows_are_standardised(seed):
    dataset = toy(60)
    paper, certified = paper_split(dataset, seed), certified_split(dataset, seed)
    everything = np.vstack([paper.X_train, paper.X_test]).astype(np.float64)
    np.testing.assert_allclose(everything.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(everything.std(axis=0), [1, 1, 1, 0], atol=1e-5)
    prior = certified.X_train[certified.prior_rows].astype(np.float64)
    np.testing.assert_allclose(prior[:, :2].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(prior[:, :2].std(axis=0), 1, atol=1e-5)
    assert np.array_equal(certified.X_train[:, 2:], dataset.X[certified.train_rows, 2:])


def test_a_set_that_needs_no_scaling_is_left_alone(protocol):
    moons = load_dataset("moons")
    split = protocol(moons, 0)
    assert np.array_equal(split.X_train, moons.X[split.train_rows])
    assert split.scaling.columns.size == 0
    assert not np.shares_memory(split.X_train, moons.X)


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.5, 0.99])
def test_share_of_prior_rows(fraction):
    split = certified_split(toy(100), 0, prior_fraction=fraction, scaling="none")
    assert len(split.prior_rows) == round(75 * fraction) == 75 - len(split.certified_rows)


@given(
    seed=SEEDS,
    sizes=st.tuples(st.integers(2, 60), st.integers(2, 60)),
    fraction=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_subsets_are_nested_and_keep_roles_and_shares(seed, sizes, fraction):
    dataset = toy(80)
    for split in (paper_split(dataset, 1), certified_split(dataset, 1, prior_fraction=fraction)):
        small, large = (training_subset(split, n, seed) for n in sorted(sizes))
        for subset, n in zip((small, large), sorted(sizes), strict=True):
            assert len(subset.train_rows) == len(subset.X_train) == len(subset.y_train) == n
            assert np.array_equal(subset.test_rows, split.test_rows)
            share = len(split.prior_rows) / len(split.train_rows)
            assert abs(len(subset.prior_rows) - n * share) <= 1
        for role in ("prior_rows", "certified_rows"):
            rows = [set(part.train_rows[getattr(part, role)].tolist()) for part in (small, large, split)]
            assert rows[0] <= rows[1] <= rows[2]


def test_a_subset_of_all_rows_is_the_split(protocol):
    split = protocol(toy(80), 1)
    subset = training_subset(split, 60, seed=4)
    order = np.argsort(subset.train_rows), np.argsort(split.train_rows)
    assert np.array_equal(subset.X_train[order[0]], split.X_train[order[1]])
    assert np.array_equal(subset.scaling.mean, split.scaling.mean)


def test_a_subset_is_scaled_by_its_own_prior_rows_and_the_papers_by_all():
    dataset = toy(80)
    certified = training_subset(certified_split(dataset, 1), 20, seed=0)
    assert certified.scaling.n_fitted == len(certified.prior_rows) == 10
    left_out = np.setdiff1d(np.arange(80), certified.train_rows)
    again = training_subset(certified_split(change(dataset, left_out), 1), 20, seed=0)
    assert np.array_equal(certified.X_train, again.X_train)
    paper = paper_split(dataset, 1)
    assert np.array_equal(training_subset(paper, 20, seed=0).X_test, paper.X_test)


def test_other_seeds_give_other_subsets():
    split = paper_split(toy(80), 1)
    first, second = training_subset(split, 20, seed=0), training_subset(split, 20, seed=1)
    assert not np.array_equal(first.train_rows, second.train_rows)


@pytest.mark.parametrize("seed", [-1, 1.0, True, None])
def test_impossible_seeds(seed, protocol):
    with pytest.raises((DtypeError, DomainError), match="seed must be"):
        protocol(toy(20), seed)
    with pytest.raises((DtypeError, DomainError), match="seed must be"):
        training_subset(protocol(toy(20), 0), 5, seed)


def test_impossible_splits():
    dataset = toy(20)
    with pytest.raises(
        UnknownNameError, match=r"Unknown scaling 'papers'; choose one of none, numeric, paper"
    ):
        paper_split(dataset, 0, scaling="papers")
    with pytest.raises(DomainError, match="prior_fraction must lie in"):
        certified_split(dataset, 0, prior_fraction=1.0)
    with pytest.raises(DomainError, match="needs rows that are not certified; raise prior_fraction"):
        certified_split(dataset, 0, prior_fraction=0.0)
    with pytest.raises(DomainError, match="has 3 rows, too few to split"):
        paper_split(toy(3), 0)
    for n in (1, 16):
        with pytest.raises(
            DomainError, match=f"n must lie between 2 and the 15 training rows there are, got {n}"
        ):
            training_subset(certified_split(dataset, 0), n, 0)


@pytest.mark.parametrize("name", [name for name in PAPER_DATASETS if name != "mnistLH"])
def test_the_papers_sizes_and_scaling(name, data_dir):
    dataset = load_dataset(name, data_dir)
    split = paper_split(dataset, 0)
    sizes = {"ads": 2459, "adult": 36631, "mnist17": 11377, "mnist49": 10336, "mnist56": 9891}
    assert len(split.y_train) == sizes[name]
    assert split.scaling.columns.size == (0 if name.startswith("mnist") else dataset.n_features)
    assert certified_split(dataset, 0).scaling.columns.size == (6 if name == "adult" else 0)
