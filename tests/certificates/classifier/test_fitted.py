"""A classifier fitted on some rows of a table: its certificate, its folder, and what changes are found."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest
from tests.certificates.conftest import failed, verify

from pbgnet.certificates import (
    CandidateRecord,
    Certificate,
    CertifiedPredictions,
    FitRecord,
    FittedSubject,
    LabelledRows,
    PreprocessingRecord,
    Split,
    certificate_schema,
    certify_fitted,
    load_certified,
    load_predictions,
    save_predictions,
)
from pbgnet.certificates.data import KeptRows
from pbgnet.certificates.verification.steps import FITTED_STEPS
from pbgnet.exceptions import DamagedFileError, DomainError, ShapeError

CANDIDATES = (CandidateRecord("a threshold at 1", 30), CandidateRecord("a threshold at 0", 12))
FIT = FitRecord("a threshold at 0", "no library", PreprocessingRecord(), CANDIDATES, 5)


def threshold(X):
    return np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, "yes", "no")


@pytest.fixture(scope="module")
def certified(table):
    rows = LabelledRows(*table)
    return certify_fitted(threshold, rows, Split.of_table(rows, fraction=0.4, seed=1), FIT)


def changed(certified, **values):
    certificate = dataclasses.replace(certified.certificate, **values)
    return dataclasses.replace(certified, certificate=certificate)


def test_the_certificate_says_what_it_rests_on(certified):
    certificate = certified.certificate
    text = " ".join(certificate.assumptions)
    assert "The prior rows were drawn at random from the set of all rows with the stated seed" in text
    assert "fitted only on the 80 prior rows" in text
    assert "The fit is not repeated" in text
    assert "no cost: the classifier, among 2 candidates, by cross-validation with 5 folds" in text
    assert "It is not stored with this certificate" in certificate.predictors[0]
    assert "a threshold at 0 of no library" in certificate.predictors[0]
    assert (certificate.inputs.n, certificate.n_rows_total) == (120, 200)
    assert Certificate.from_json(certificate.to_json()).to_json() == certificate.to_json()


def test_the_schema_takes_it_and_refuses_a_fit_without_rows(certified):
    content = certified.certificate.to_dict()
    jsonschema.validate(content, certificate_schema())
    content["subject"]["n_prior_rows"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, certificate_schema())
    with pytest.raises(DamagedFileError, match="n_prior_rows"):
        Certificate.from_dict(content)


def test_every_step_is_recomputed_or_on_trust(table, certified):
    report = verify(certified, *table, model=threshold)
    assert [step.name for step in report.steps] == ["files", *FITTED_STEPS]
    assert report.ok
    assert [step.name for step in report.trusted] == ["fit", "settled beforehand"]


def test_a_list_of_rows_verifies_as_the_array_it_was(table, certified):
    X, y = table
    assert verify(certified, X.tolist(), y.tolist()).ok


def test_changed_data_are_found(table, certified):
    X, y = table
    first = int(certified.split.certified_rows[0])
    labels, values = y.copy(), X.copy()
    labels[first] = "no" if y[first] == "yes" else "yes"
    values[first] += 1
    assert {"data: labels", "split redrawn", "error rate", "evidence"} <= failed(verify(certified, X, labels))
    assert {"data: features", "split redrawn"} <= failed(verify(certified, values, y))
    assert {"data: number of rows", "certified rows"} <= failed(verify(certified, X[:-1], y[:-1]))
    assert "answers" in failed(verify(certified, X, y, model=lambda X: np.full(len(X), "yes")))


def test_another_split_is_found(table, certified):
    rows = np.array(certified.split.prior_rows)
    moved = np.append(rows[1:], certified.split.certified_rows[0])
    rest = np.setdiff1d(np.arange(200), moved)
    other = dataclasses.replace(certified, split=Split(moved, rest, certified.split.record))
    assert {"split", "split redrawn"} <= failed(verify(other, *table))


def test_an_edited_record_of_the_fit_is_found(table, certified, tmp_path):
    save_predictions(certified, tmp_path / "folder")
    place = tmp_path / "folder" / "certificate.json"
    content = json.loads(place.read_text())
    content["subject"]["fit"]["library"] = "another"
    place.write_text(json.dumps(content))
    assert {"statement", "certificate text"} <= failed(verify(tmp_path / "folder", *table))
    with pytest.raises(DamagedFileError, match="edited"):
        load_predictions(tmp_path / "folder")


def test_a_folder_gives_back_what_was_saved(table, certified, tmp_path):
    save_predictions(certified, tmp_path / "folder")
    loaded = load_certified(tmp_path / "folder")
    assert loaded.certificate == certified.certificate
    assert np.array_equal(loaded.split.prior_rows, certified.split.prior_rows)
    assert np.array_equal(loaded.predictions, certified.predictions)
    assert verify(tmp_path / "folder", *table).ok


@pytest.mark.parametrize(
    "rows", [[], [0] * 80, [-1, *range(79)], [10**30, *range(79)], "all", list(range(79)), None]
)
def test_impossible_rows_in_a_file_are_named(rows, certified, tmp_path):
    save_predictions(certified, tmp_path / "folder")
    place = tmp_path / "folder" / "predictions.json"
    content = json.loads(place.read_text())
    content["prior_rows"] = rows
    place.write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match=r"predictions\.json"):
        load_predictions(tmp_path / "folder")


def test_records_that_contradict_themselves_are_refused():
    with pytest.raises(DomainError, match="fewest errors"):
        FitRecord("a threshold at 1", "no library", PreprocessingRecord(), CANDIDATES, 5)
    with pytest.raises(DomainError, match="folds"):
        FitRecord("a threshold at 0", "no library", PreprocessingRecord(), CANDIDATES)
    with pytest.raises(DomainError, match="'none'"):
        FittedSubject("0" * 64, "0" * 64, Split([], [0]).record, 5, FIT)


def test_split_and_answers_must_fit(certified):
    with pytest.raises(DomainError, match="A split is needed"):
        CertifiedPredictions(certified.certificate, certified.classes, certified.predictions, certified.rows)
    with pytest.raises(ShapeError, match="as many certified rows"):
        dataclasses.replace(certified, predictions=certified.predictions[1:])
    with pytest.raises(ShapeError, match="one row fingerprint for each row"):
        dataclasses.replace(certified, rows=KeptRows(certified.rows.fingerprints[1:]))


def test_all_other_rows_are_counted(table):
    rows = LabelledRows(*table)
    with pytest.raises(DomainError, match="all the others"):
        certify_fitted(threshold, rows, Split([0, 1], [2, 3]), FIT)
    with pytest.raises(DomainError, match="all the others"):
        certify_fitted(threshold, rows, Split([], range(200)), FIT)


def test_a_choice_that_is_not_recorded_is_found(table, certified):
    choices = dataclasses.replace(certified.certificate.choices, on_prior_rows=())
    assert failed(verify(changed(certified, choices=choices), *table)) == {"shares of delta"}
