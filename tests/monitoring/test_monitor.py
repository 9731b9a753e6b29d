"""A monitor: alarms, late labels, ids, bad input, and its file."""

import json
import time

import numpy as np
import pytest

import pbgnet.files
from pbgnet import ChangeDetector, Monitor, certify
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    PBGNetError,
    ShapeError,
    UncertifiedError,
    UnknownNameError,
)
from pbgnet.monitoring.claims import WatchedClaim


def contents(monitor):
    return monitor.claims, monitor.waiting, monitor._seen.tolist()


def test_it_raises_the_alarm_when_errors_become_frequent_and_not_before(predictions, stream):
    monitor = Monitor(predictions)
    assert not monitor.update(*stream(5000, 0.02)).alarm
    assert "do not contradict the certified 2.9 %" in monitor.summary
    assert monitor.update(*stream(2000, 0.06)).alarm
    row = monitor.claims[0].alarm_row
    assert 5000 < row < 7000
    assert f"has risen above the certified 2.9 %: alarm after {row} labelled rows." in monitor.summary
    assert monitor.update(*stream(5000, 0.0)).alarm  # it stays
    assert monitor.claims[0].alarm_row == row
    assert monitor.error_rate.n_errors == 0


def test_classes_share_alpha_and_have_their_own_rows(by_class):
    monitor = Monitor(by_class)
    assert [claim.share for claim in monitor.claims] == [0.5, 0.25, 0.25]
    truth = np.array(["a", "b"] * 1000)
    answers = np.where((truth == "b") & (np.arange(2000) % 14 == 1), "a", truth)
    monitor.update(truth, answers)
    overall, of_a, of_b = monitor.claims
    assert (overall.n_rows, of_a.n_rows, of_b.n_rows) == (2000, 1000, 1000)
    assert (of_a.n_errors, of_b.n_errors) == (0, overall.n_errors)
    assert of_a.alarm_row is None
    assert of_b.alarm_row is not None
    assert "in class 'b' has risen" in monitor.summary


def test_groups_are_watched_by_their_upper_limits(by_group):
    monitor = Monitor(by_group)
    upper = {group.name: group.upper for group in by_group.certificate.by_group}
    assert {claim.group: claim.bound for claim in monitor.claims[1:]} == upper
    assert [claim.share for claim in monitor.claims] == [0.5, 0.25, 0.25]
    with pytest.raises(OptionError, match="pass the group of each row"):
        monitor.update(["a"], ["a"])
    monitor.update(
        ["a", "a", None], ["a", "b", "b"], [1, 2, 3], groups=["new", "north", "north"], missing="pending"
    )
    monitor.update(["a"], ids=[3])
    overall, north, south = monitor.claims
    assert (overall.n_rows, north.n_rows, north.n_errors, south.n_rows) == (3, 2, 2, 0)


def test_answered_rows_are_held_against_their_own_bound(of_sure_rows, stream):
    monitor = Monitor(of_sure_rows)
    assert [(claim.answered, claim.share) for claim in monitor.claims] == [(False, 0.5), (True, 0.5)]
    assert monitor.claims[1].bound == of_sure_rows.certificate.answered_error_rate.value
    truth, answers = stream(400, 0.05)
    answered = truth == answers
    monitor.update(truth, answers, answered=answered)
    assert monitor.claims[1].n_rows == answered.sum() < monitor.claims[0].n_rows
    assert (monitor.claims[0].n_errors, monitor.claims[1].n_errors) == ((~answered).sum(), 0)
    assert monitor.update(*stream(400, 0.3), answered=np.ones(400, dtype=bool)).alarm
    assert "The error rate among answered rows has risen above the certified" in monitor.summary


def test_a_bound_that_was_asked_for_is_told_as_such():
    assert [WatchedClaim(bound, 1.0).bound_text for bound in (0.02, 0.0289421)] == ["2", "2.9"]


def test_a_row_left_unanswered_counts_as_right_where_its_answer_is_unknown(of_sure_rows):
    monitor = Monitor(of_sure_rows)
    rows = (["a", "b", None, None], ["b", None, None, "b"], [1, 2, 3, 4])
    monitor.update(*rows, answered=[True, False, False, False], missing="pending")
    monitor.update(["a", "a"], ids=[3, 4])
    assert [(claim.n_rows, claim.n_errors) for claim in monitor.claims] == [(4, 2), (1, 1)]
    assert Monitor(of_sure_rows.certificate).claims[1].answered


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, OptionError, "pass answered"),
        ({"answered": [True]}, ShapeError, "for each of the 2 rows, got 1"),
        ({"answered": [1, 0]}, ShapeError, "True or False"),
        ({"answered": [True, True]}, LabelError, "y_pred has no prediction in row 1"),
    ],
)
def test_which_rows_were_answered_must_be_told(of_sure_rows, options, kind, message):
    monitor = Monitor(of_sure_rows)
    with pytest.raises(kind, match=message):
        monitor.update(["a", "b"], ["a", None], **options)
    assert not monitor.claims[0].n_rows


def test_several_labels_cannot_be_watched():
    truth = np.tile([[0, 1], [1, 0]], (50, 1))
    with pytest.raises(OptionError, match="several labels"):
        Monitor(certify(lambda X: truth[X[:, 0].astype(int)], np.arange(100)[:, None], truth))


@pytest.mark.parametrize("seed", range(4))
def test_saved_and_resumed_anywhere_it_says_the_very_same(of_sure_rows, stream, tmp_path, seed):
    rng = np.random.default_rng(seed)
    truth, answers = stream(3000, 0.04)
    answered, late = rng.random(3000) < 0.8, rng.random(3000) < 0.1
    labels = np.where(late, None, truth)
    whole, interrupted, path = Monitor(of_sure_rows), Monitor(of_sure_rows), tmp_path / "state.json"
    for rows in np.split(np.arange(3000), np.sort(rng.integers(0, 3000, size=12))):
        for monitor in (whole, interrupted):
            monitor.update(labels[rows], answers[rows], rows, answered=answered[rows], missing="pending")
        come = rows[late[rows]][::2]
        for monitor in (whole, interrupted):
            monitor.update(truth[come], ids=come)
        interrupted = Monitor.resume(interrupted.save(path), of_sure_rows)
    assert contents(interrupted) == contents(whole)
    at_once = Monitor(of_sure_rows)
    order = np.flatnonzero(~late)
    at_once.update(truth[order], answers[order], answered=answered[order])
    split = Monitor(of_sure_rows)
    for rows in np.array_split(order, rng.integers(2, 400)):
        split.update(truth[rows], answers[rows], answered=answered[rows])
    for one, other in zip(at_once.claims, split.claims, strict=True):
        assert (one.n_rows, one.n_errors, one.alarm_row) == (other.n_rows, other.n_errors, other.alarm_row)
        assert one.trail.errors == other.trail.errors
        assert one.log_e == pytest.approx(other.log_e, abs=1e-9)


def test_labels_that_come_late_are_counted_when_they_come(predictions):
    monitor = Monitor(predictions)
    taken = monitor.update(["a", None, float("nan")], ["a", "b", "b"], ["x", "y", "z"], missing="pending")
    assert (taken.n_counted, taken.n_waiting, monitor.waiting) == (1, 2, ("y", "z"))
    assert "2 rows wait for their labels" in monitor.summary
    again = monitor.update([None], ["b"], ["y"], missing="pending")
    assert (again.n_counted, again.n_waiting, monitor.waiting) == (0, 0, ("y", "z"))
    taken = monitor.update(["b", "a"], ids=["y", "z"])
    assert (taken.n_counted, taken.n_completed, monitor.waiting) == (2, 2, ())
    assert (monitor.claims[0].n_rows, monitor.claims[0].n_errors) == (3, 1)
    with pytest.raises(DomainError, match="'z' was already counted"):
        monitor.update(["a"], ["b"], ["z"])


def test_labels_with_gaps_keep_their_type(predictions):
    numbers = Monitor(predictions.certificate)
    numbers.update(np.array([1.0, np.nan, 0.0]), np.array([1, 1, 1]), missing="drop")
    numbers.update(np.array([True, None], dtype=object), np.array([True, False]), missing="drop")
    assert (numbers.claims[0].n_rows, numbers.claims[0].n_errors) == (3, 1)
    pd = pytest.importorskip("pandas")
    numbers.update(pd.Series([1, None, 0], dtype="Int64"), [1, 1, 0], missing="drop")
    assert numbers.claims[0].n_rows == 5


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((["a", None], ["a", "a"]), {}, LabelError, "1 of 2 rows have no label, the first of them row 1"),
        ((["a", "c"], ["a", "a"]), {}, LabelError, "y_true holds the unknown label 'c'"),
        ((["a", "a"], ["a", "c"]), {}, LabelError, "y_pred holds the unknown label 'c'"),
        ((["a"], [None]), {}, LabelError, "y_pred has no prediction in row 0"),
        (([1, 0], [1, 0]), {}, LabelError, "unknown label 0"),
        ((["a"], ["a", "b"]), {}, ShapeError, "y_true has 1 labels, but y_pred has 2 predictions"),
        ((["a", "a"], ["a", "a"], ["x", "x"]), {}, DomainError, "'x' occurs twice"),
        ((["a", "a"], ["a", "a"], ["x", None]), {}, DomainError, "Row 1 has no id"),
        ((["a", "b"], ["a", "a"], ["new", "old"]), {}, DomainError, "'old' was already counted"),
        (
            (["a"], ["b"], ["waits"]),
            {},
            DomainError,
            "with the prediction 'a', but now comes with 'b'",
        ),
        ((["a"], None, ["new"]), {}, OptionError, "'new' is not pending"),
        ((["a"],), {}, OptionError, "y_pred is required"),
        (([None], ["a"]), {"missing": "pending"}, OptionError, "pass ids"),
        ((["a"], ["a"]), {"missing": "ignore"}, UnknownNameError, "pending"),
        ((["a"], ["a"]), {"repeated": "ignore"}, UnknownNameError, "skip"),
        (([["a", "b"]], ["a"]), {}, ShapeError, "one value per row"),
    ],
)
def test_bad_rows_are_refused_and_nothing_is_half_done(predictions, arguments, options, kind, message):
    monitor = Monitor(predictions)
    monitor.update(["a", None], ["a", "a"], ["old", "waits"], missing="pending")
    before = contents(monitor)
    with pytest.raises(kind, match=message):
        monitor.update(*arguments, **options)
    assert contents(monitor) == before


def test_rows_counted_before_can_be_passed_over(predictions):
    monitor = Monitor(predictions)
    monitor.update(["a", "b"], ["a", "b"], [1, 2])
    taken = monitor.update(["a", "b", "a"], ["b", "b", "a"], [1, 2, 3], repeated="skip")
    assert (taken.n_counted, taken.n_skipped, monitor.claims[0].n_errors) == (1, 2, 0)
    assert monitor.knows(["1", 3, 4]).tolist() == [True, True, False]


def test_it_goes_on_where_it_was_saved(by_class, stream, tmp_path):
    rows = np.random.default_rng(0).normal(size=(900, 2))
    change = ChangeDetector(rows[:200], rows[200:600])
    whole, path = Monitor(by_class, 0.05, change=change), tmp_path / "state.json"
    truth, answers = stream(700, 0.05)
    whole.update(truth[:300], answers[:300], np.arange(300))
    whole.update([None], ["a"], ["late"], missing="pending")
    change.update(rows[600:700])
    whole.save(path)
    resumed = Monitor.resume(path, by_class)
    for monitor in (whole, resumed):
        monitor.update(truth[300:], answers[300:], np.arange(300, 700))
        monitor.update(["b"], ids=["late"])
        monitor.change.update(rows[700:])
    assert contents(whole) == contents(resumed)
    assert resumed.alpha == 0.05
    assert resumed.change.log_e == whole.change.log_e
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size < 50_000


def test_a_state_of_another_model_is_refused(predictions, by_class, tmp_path):
    path = Monitor(predictions).save(tmp_path / "state.json")
    with pytest.raises(UncertifiedError, match="monitors another certificate"):
        Monitor.resume(path, by_class)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("alpha"), "lacks the key alpha"),
        (lambda data: data.update(extra=1), "unknown key extra"),
        (lambda data: data.update(schema="other"), "it is not 'pbgnet-monitor'"),
        (lambda data: data["claims"][0].update(bound=0.5), "bounds do not match those of the certificate"),
        (lambda data: data["claims"][0]["accounts"].update(rows=-1), "at least 0"),
        (lambda data: data.update(seen="AAA"), "state.json is damaged: seen is not base64"),
        (lambda data: data.update(change={}), "change lacks the key change.bins"),
    ],
)
def test_a_damaged_state_is_named(predictions, tmp_path, change, message):
    path = Monitor(predictions).save(tmp_path / "state.json")
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(DamagedFileError, match=message):
        Monitor.resume(path, predictions)


def test_a_writer_that_dies_leaves_the_old_state(predictions, tmp_path, monkeypatch):
    path = Monitor(predictions).save(tmp_path / "state.json")
    before = path.read_bytes()
    monitor = Monitor.resume(path, predictions)
    monitor.update(["a"], ["a"])

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pbgnet.files.os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        monitor.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), "0.1", None])
def test_alpha_is_a_probability(predictions, alpha):
    with pytest.raises(PBGNetError):
        Monitor(predictions, alpha)


def test_what_is_no_certificate_is_refused():
    with pytest.raises(DtypeError, match=r"Expected a certificate.*Read a saved folder with load_model"):
        Monitor("certificate")


def test_the_trail_is_thinned_and_ends_at_the_last_row(predictions):
    claim = WatchedClaim(0.03, 1.0)
    for n_rows in (1, 7, 5000, 3):
        claim = claim.after(np.arange(n_rows) % 50 == 0, 0.01)
    always_wrong = WatchedClaim(0.03, 1.0).after(np.ones(300, bool), 0.01).after(np.ones(9000, bool), 0.01)
    assert (always_wrong.course()[0] == always_wrong.course()[1]).all()
    rows, errors, log_e = claim.course()
    assert rows[-1] == claim.n_rows == 5011
    assert (np.diff(rows[:-1]) == claim.trail.spacing).all()
    assert len(rows) <= 401
    assert errors[-1] == claim.n_errors
    assert log_e[-1] == pytest.approx(claim.log_e)


def test_a_million_rows_take_seconds(predictions):
    truth = np.resize(["a", "b"], 10**6)
    answers = np.where(np.random.default_rng(0).random(10**6) < 0.02, "a", truth)
    monitor, start = Monitor(predictions), time.process_time()
    monitor.update(truth, answers)
    assert monitor.claims[0].n_rows == 10**6
    assert time.process_time() - start < 5.0  # about 1 where nothing else runs
