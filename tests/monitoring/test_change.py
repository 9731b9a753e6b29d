"""The test of change: exact places, columns that are named, bins for all that may come, and its file."""

import json

import numpy as np
import pytest
from scipy.stats import kstest

from pbgnet import ChangeDetector
from pbgnet.exceptions import DamagedFileError, DtypeError, OptionError, ShapeError
from pbgnet.monitoring.conformal import MEMORIES, N_CELLS, conformal_places, place_log_factors


def test_places_are_uniform_where_rows_are_alike():
    rng = np.random.default_rng(0)
    bins = rng.choice(4, size=4000, p=[0.7, 0.2, 0.05, 0.05])
    places, counts = conformal_places(bins[1000:], np.bincount(bins[:1000]), rng.random(3000))
    assert kstest(places, "uniform").pvalue > 0.01
    assert counts.tolist() == np.bincount(bins).tolist()


def test_places_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    bins, lots = rng.integers(5, size=40), rng.random(30)
    places, _ = conformal_places(bins[10:], np.bincount(bins[:10], minlength=5), lots)
    for row, (place, lot) in enumerate(zip(places, lots, strict=True)):
        until, now = bins[: 11 + row], bins[10 + row]
        assert place == pytest.approx(((until > now).sum() + lot * (until == now).sum()) / (11 + row))


def test_bets_pay_one_on_average_for_a_uniform_place():
    recent = np.random.default_rng(2).random((len(MEMORIES), N_CELLS)) * 9
    middles = (np.arange(N_CELLS) + 0.5) / N_CELLS
    factors = [np.exp(place_log_factors(np.array([place]), recent)[0][0]) for place in middles]
    assert np.mean(factors, axis=0) == pytest.approx(1.0, abs=1e-12)
    assert (np.mean(factors, axis=0) <= 1.0).all()


def test_bets_do_not_depend_on_how_rows_are_divided():
    places, recent = np.random.default_rng(3).random(50), np.zeros((len(MEMORIES), N_CELLS))
    whole, after = place_log_factors(places, recent)
    first, between = place_log_factors(places[:20], recent)
    second, last = place_log_factors(places[20:], between)
    assert np.vstack([first, second]) == pytest.approx(whole)
    assert last == pytest.approx(after)


def frame(n, rng, **columns):
    pd = pytest.importorskip("pandas")
    made = {
        "size": rng.normal(size=n),
        "colour": rng.choice(["red", "green", "blue"], n),
        "steady": rng.normal(size=n),
    }
    return pd.DataFrame({**made, **columns})


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ("size", lambda n, rng: rng.normal(size=n) + 1),
        ("size", lambda n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))),
        ("colour", lambda n, rng: rng.choice(["red", "green", "blue"], n, p=[0.6, 0.2, 0.2])),
        ("colour", lambda n, rng: rng.choice(["red", "green", "violet"], n)),
        ("colour", lambda n, rng: np.where(rng.random(n) < 0.3, None, "red")),
    ],
    ids=["shifted", "missing", "other shares", "unknown category", "missing category"],
)
def test_the_column_that_changed_is_named(changed, values):
    rng = np.random.default_rng(4)
    detector = ChangeDetector(frame(300, rng), frame(1000, rng))
    assert not detector.update(frame(500, rng))
    assert detector.update(frame(600, rng, **{changed: values(600, rng)}))
    assert detector.changed_columns == (changed,)
    assert 500 < detector.alarm_row < 1100


def test_a_late_change_is_found():
    rng = np.random.default_rng(5)
    detector = ChangeDetector(rng.normal(size=(300, 2)), rng.normal(size=(1000, 2)))
    assert not detector.update(rng.normal(size=(20_000, 2)))
    assert detector.update(rng.normal(np.array([0.0, 1.0]), size=(400, 2)))


def test_answers_and_margins_alone_can_be_compared():
    rng = np.random.default_rng(6)

    def columns(n, sure):
        return {"(margin)": rng.beta(sure, 1, n), "(answer)": rng.choice(["a", "b"], n)}

    detector = ChangeDetector(None, None, bin_extra=columns(200, 3), reference_extra=columns(500, 3))
    assert not detector.update(extra=columns(500, 3))
    assert detector.update(extra=columns(500, 1))
    assert detector.changed_columns == ("(margin)",)


def test_other_columns_are_passed_over_and_absent_ones_are_an_error():
    rng = np.random.default_rng(7)
    detector = ChangeDetector(frame(50, rng), frame(50, rng))
    detector.update(frame(20, rng, label=np.ones(20)))
    before = detector.to_dict()
    with pytest.raises(ShapeError, match="has no column 'colour'"):
        detector.update(frame(20, rng).drop(columns="colour"))
    with pytest.raises(ShapeError, match="the same number of rows"):
        detector.update(frame(20, rng), extra={"(margin)": [1.0]})
    assert detector.to_dict() == before


def test_it_does_not_matter_how_rows_are_divided():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(350, 5))
    whole, parts = (ChangeDetector(rows[:50], rows[50:150]) for _ in range(2))
    whole.update(rows[150:])
    for part in np.array_split(rows[150:], 7):
        parts.update(part)
    assert parts.log_e == pytest.approx(whole.log_e)
    assert [column.counts for column in parts.columns] == [column.counts for column in whole.columns]
    assert whole.trail.rows[-1] == whole.n_rows == 200
    assert whole.trail.log_e[-1] == pytest.approx(whole.log_e)


def test_missing_values_have_a_bin_of_their_own():
    """Also where the rows that fixed the bins had none."""
    rows = np.arange(40.0)[:, None]
    detector = ChangeDetector(rows, rows)
    detector.update(np.full((7, 1), np.nan))
    assert detector.columns[0].counts[-1] == 7
    assert sum(detector.columns[0].counts) == 47


def test_it_goes_on_from_json():
    rng = np.random.default_rng(8)
    detector = ChangeDetector(frame(50, rng), frame(50, rng), random_state=3)
    detector.update(frame(30, rng))
    again = ChangeDetector.from_dict(json.loads(json.dumps(detector.to_dict())))
    rows = frame(70, rng)
    for each in (detector, again):
        each.update(rows)
    assert again.to_dict() == detector.to_dict()
    damaged = detector.to_dict()
    damaged["state"]["columns"] = damaged["state"]["columns"][1:]
    with pytest.raises(DamagedFileError, match="not those of its bins"):
        ChangeDetector.from_dict(damaged)


def test_what_cannot_be_compared_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(OptionError, match="no column"):
        ChangeDetector(None, None)
    with pytest.raises(DtypeError, match="Sparse"):
        ChangeDetector(sparse.eye(5), sparse.eye(5))
    with pytest.raises(ShapeError, match="At least 2 reference rows"):
        ChangeDetector(np.ones((5, 1)), np.ones((1, 1)))
