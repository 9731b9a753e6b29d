"""Rules that tell the rows of the prior by a column: repeated by anyone, whatever the order of the rows."""

import numpy as np
import pytest

from pbgnet.certificates import LabelledRows, Split, SplitRecord, by_hash_of, earliest_by, load_model, verify
from pbgnet.estimators import PBGDClassifier
from pbgnet.exceptions import DomainError, ShapeError

pd = pytest.importorskip("pandas")


def make_frame(n=300, seed=0):
    """Rows of cases that occur up to a few times, on days that occur several times."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"case": rng.integers(0, n // 2, n), "day": rng.integers(0, 60, n), "x": rng.normal(size=n)}
    )
    return frame, np.where(frame["x"] > 0, "yes", "no")


def chosen(rule, frame, y):
    return Split.of_table(LabelledRows(frame, y), rule).prior_rows


def test_rows_of_one_name_stay_together_and_move_by_themselves():
    frame, y = make_frame()
    rule = by_hash_of("case", 0.3, seed=4)
    rows = chosen(rule, frame, y)
    assert 50 < rows.size < 130
    cases = frame["case"].to_numpy()
    assert not set(cases[rows]) & set(np.delete(cases, rows))
    assert chosen(rule, frame[:100], y[:100]).tolist() == rows[rows < 100].tolist()
    assert chosen(rule, frame.astype(str), y).tolist() == rows.tolist()
    assert chosen(by_hash_of("case", 0.3, seed=5), frame, y).tolist() != rows.tolist()


def test_the_earliest_rows_are_earlier_than_all_others():
    frame, y = make_frame()
    dates = (pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["day"], "D")).dt.strftime("%Y-%m-%d")
    rows = chosen(earliest_by("day", 0.4), frame, y)
    assert 100 < rows.size <= 120
    day = frame["day"].to_numpy()
    assert day[rows].max() < np.delete(day, rows).min(), "also of one day all are on one side"
    for other in (frame.astype(str), frame.assign(day=dates)):
        assert chosen(earliest_by("day", 0.4), other, y).tolist() == rows.tolist()


@pytest.mark.parametrize("rule", [by_hash_of("case", 0.3), earliest_by("day", 0.4)])
def test_a_rule_is_recorded_repeated_and_its_assumption_told(rule, tmp_path):
    frame, y = make_frame()
    fitted = PBGDClassifier(random_state=0).fit(frame, y, prior_rows=rule)
    assert fitted.certificate_.network.split == rule
    fitted.save(tmp_path / "model")
    assert load_model(tmp_path / "model").certificate.network.split == rule
    report = verify(tmp_path / "model", frame, y)
    assert report.ok, str(report)
    (step,) = [step for step in report.trusted if step.name == "split redrawn"]
    assert "taken on trust" in step.detail
    words = {"hashed": "hash of column 'case'", "earliest": "drawn like the later ones"}[rule.how]
    assert any(words in each for each in fitted.certificate_.assumptions)
    moved = Split(fitted.prior_rows_[1:], np.r_[fitted.certified_rows_, fitted.prior_rows_[:1]], rule)
    assert f"not the ones that column {rule.column!r} gives" in moved.record_problem(LabelledRows(frame, y))


def test_what_cannot_be_told_is_refused():
    frame, y = make_frame(40)
    with pytest.raises(ShapeError, match="no column 'name', which selects the prior rows"):
        chosen(by_hash_of("name"), frame, y)
    with pytest.raises(ShapeError, match="which selects the prior rows"):
        chosen(earliest_by("x0"), frame.to_numpy(), y)
    with pytest.raises(DomainError, match="'day' selects the prior rows, but has missing values"):
        chosen(earliest_by("day"), frame.assign(day=[None, *frame["day"][1:]]), y)
    for rule in (earliest_by("day"), by_hash_of("day")):
        with pytest.raises(DomainError, match="At least one row is needed"):
            chosen(rule, frame.assign(day=1), y)
    with pytest.raises(DomainError, match="'given' is not a rule"):
        chosen(SplitRecord("given"), frame, y)
    with pytest.raises(DomainError, match="'earliest' split has no seed"):
        SplitRecord("earliest", seed=1, fraction=0.5, column="day")
    with pytest.raises(DomainError, match="'hashed' split needs its column"):
        SplitRecord("hashed", seed=1, fraction=0.5)
