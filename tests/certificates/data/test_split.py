"""The split: drawn from a seed, checked once, and never with a row in both parts."""

import numpy as np
import pytest

from pbgnet.certificates import LabelledRows, Split, SplitRecord, draw_prior_rows
from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError


def numbered(n):
    """Rows that are all different, with labels."""
    return np.arange(float(n))[:, None], np.arange(n) % 2


def table_of(n):
    return LabelledRows(*numbered(n))


@pytest.mark.parametrize(
    ("n", "fraction", "count"), [(10, 0.5, 5), (10, 0.01, 1), (10, 0.99, 9), (2, 0.5, 1)]
)
def test_prior_rows_are_drawn_without_repetition(n, fraction, count):
    rows = draw_prior_rows(*numbered(n), fraction, seed=1)
    assert rows.dtype == np.int64
    assert rows.size == np.unique(rows).size == count
    assert (np.diff(rows) > 0).all()


def test_the_split_can_be_checked_before_training():
    with pytest.raises(PriorLeakageError, match="for example row 2"):
        Split([1, 2], [2, 3])
    with pytest.raises(DomainError, match="prior_rows contains row 1 twice"):
        Split([2, 1, 1], [3])
    with pytest.raises(
        DomainError, match="certified_rows contains row 9, but the last row of the table is 8"
    ):
        Split([0], [9]).check_within(9)
    split = Split([0], [8])
    split.check_within(9)
    assert split.certified_rows.tolist() == [8]


def test_rows_that_are_no_rows_are_refused():
    with pytest.raises(DtypeError, match=r"prior_rows must contain row indices.*np\.flatnonzero"):
        Split([True, False], [2])
    with pytest.raises(ShapeError, match="certified_rows must be a one-dimensional list of row indices"):
        Split([], [[2]])
    with pytest.raises(DomainError, match="certified_rows must not contain negative indices, got -1"):
        Split([], [-1])
    with pytest.raises(DomainError, match="no rows to certify"):
        Split([1], [])
    with pytest.raises(ValueError, match="read-only"):
        Split([1], [2]).certified_rows[0] = 1


def test_the_rest_of_a_table_is_certified():
    drawn = Split.of_table(table_of(40), None, 0.25, 3)
    np.testing.assert_array_equal(drawn.prior_rows, draw_prior_rows(*numbered(40), 0.25, 3))
    assert sorted([*drawn.prior_rows, *drawn.certified_rows]) == list(range(40))
    assert drawn.record == SplitRecord("drawn", seed=3, fraction=0.25)
    given = Split.of_table(table_of(5), [3, 1], 0.25, 3)
    assert given.prior_rows.tolist() == [3, 1]
    assert given.certified_rows.tolist() == [0, 2, 4]
    assert given.record == SplitRecord("given")
    assert Split.of_table(table_of(5), [False, True, False, True, False]).prior_rows.tolist() == [1, 3]
    with pytest.raises(ShapeError, match=r"mask of shape \(2,\), but there are 5 rows"):
        Split.of_table(table_of(5), [True, False])
    for none in (Split.of_table(table_of(3)), Split.of_table(table_of(3), [])):
        assert none.certified_rows.tolist() == [0, 1, 2]
        assert none.record == SplitRecord("none")
    with pytest.raises(DomainError, match="Found 1 sample: at least one is needed for the prior"):
        Split.of_table(table_of(1), None, 0.5)
    with pytest.raises(DomainError, match="prior_rows must be between 0 and 4"):
        Split.of_table(table_of(5), [5])
    with pytest.raises(DomainError, match="Every row is a prior row"):
        Split.of_table(table_of(2), [0, 1])


def test_a_record_that_contradicts_the_rows_is_named():
    def problem(prior, certified, record, n=8):
        return Split(prior, certified, record).record_problem(table_of(n))

    drawn, rows = SplitRecord("drawn", seed=3, fraction=0.25), draw_prior_rows(*numbered(8), 0.25, 3)
    rest = np.setdiff1d(np.arange(8), rows)
    assert problem(rows, rest, drawn) == problem(rows[::-1], rest, drawn) == ""
    assert "not the ones that seed 3 draws from 9 rows" in problem(rows, rest, drawn, 9)
    assert "not the ones that seed 3 draws" in problem(rest[:2], rows, drawn)
    assert "should be 'none', but there are 2 prior rows" in problem(rows, rest, SplitRecord("none"))
    assert "should be 'given', but there are 0 prior rows" in problem([], range(8), SplitRecord("given"))
    assert problem([], range(7), SplitRecord("given")) == "", "the user may leave rows out"
    assert problem([], range(8), SplitRecord("none")) == problem(rows, rest, SplitRecord("given")) == ""


def test_rows_that_nobody_vouches_for_are_missed():
    for record in (SplitRecord("none"), SplitRecord("drawn", seed=3, fraction=0.25)):
        split = Split([], range(7), record)
        assert split.n_left_out(8) == 1
        assert "1 rows of the table are neither prior rows nor certified rows" in split.left_out_problem(8)
        assert split.left_out_problem(7) == ""
    assert Split([0], range(2, 8), SplitRecord("given")).left_out_problem(8) == ""


def mixed(n, seed=0):
    """Rows of numbers and texts with gaps, some of them equal, with labels."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = rng.integers(0, 4, size=n).astype(float)
    X[:, 1] = rng.choice(["red", "green", None], size=n)
    X[:, 2] = np.where(rng.random(n) < 0.2, None, rng.integers(0, 3, size=n))
    return X, rng.choice(["yes", "no"], size=n)


def as_set(X, y, rows):
    return sorted(zip(map(repr, X[rows].tolist()), y[rows].tolist(), strict=True))


@pytest.mark.parametrize("make", [numbered, mixed])
def test_the_order_of_the_rows_does_not_steer_the_draw(make):
    X, y = make(200)
    drawn = as_set(X, y, draw_prior_rows(X, y, 0.3, seed=5))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(200)
        moved = draw_prior_rows(X[order], y[order], 0.3, seed=5)
        assert as_set(X[order], y[order], moved) == drawn


def test_the_draw_depends_on_everything_but_the_order():
    X, y = numbered(200)
    rows = draw_prior_rows(X, y, 0.5, seed=5)
    other_value, other_label = X.copy(), y.copy()
    other_value[17] += 1e-9
    other_label[17] = 1 - other_label[17]
    others = [(X, y, 6), (other_value, y, 5), (X, other_label, 5), (X, np.array(["a", "b"])[y], 5)]
    for table, labels, seed in others:
        changed = np.setdiff1d(draw_prior_rows(table, labels, 0.5, seed=seed), rows)
        assert 25 < changed.size < 75, "as many as an independent draw"


def test_the_draw_is_that_of_the_same_rows_in_every_container():
    pd, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    X, y = numbered(50)
    rows = draw_prior_rows(X, y, 0.5, seed=1)
    frame = pd.DataFrame(X.astype(int), columns=["a"])
    for table in (X.tolist(), frame, frame.astype(str), sparse.csr_matrix(X), X.astype(np.float32)):
        np.testing.assert_array_equal(draw_prior_rows(table, y, 0.5, seed=1), rows)
    np.testing.assert_array_equal(draw_prior_rows(X, y.astype(float)[:, None], 0.5, seed=1), rows)


def test_every_row_is_drawn_equally_often():
    X, y = numbered(20)
    counts = np.zeros(20)
    for seed in range(2000):
        counts[draw_prior_rows(X, y, 0.25, seed=seed)] += 1
    assert abs(counts - 500).max() < 5 * np.sqrt(500 * 0.75)
