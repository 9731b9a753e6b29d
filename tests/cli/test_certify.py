"""``pbgnet certify``: a table with answers and labels becomes a certificate, or a message that helps."""

import html
import json

import numpy as np
import pytest
from tests.cli.conftest import pd

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import AnswerColumn, certify, load_predictions, verify
from pbgnet.exceptions import DomainError, DtypeError, UnknownNameError

COLUMNS = ("--target", "label", "--answers", "predicted")
N, N_WRONG = 200, 14


def answers_table(labels=("bad", "good")):
    rng = np.random.default_rng(0)
    places = rng.integers(0, 2, N)
    answered = np.where(np.arange(N) < N_WRONG, 1 - places, places)
    order = rng.permutation(N)
    return pd.DataFrame(
        {
            "case": np.arange(N) + 1000,
            "region": np.where(np.arange(N) % 3 == 0, "north", "south"),
            "label": np.array(labels)[places[order]],
            "predicted": np.array(labels)[answered[order]],
        }
    )


@pytest.fixture
def given(tmp_path):
    """Write a table of answers, changed as is said, and return its path."""

    def write(change=lambda frame: frame, name="answers.csv", **options):
        frame = change(answers_table(**options))
        path = tmp_path / name
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        return path

    return write


def with_cell(row, column, value):
    def change(frame):
        frame[column] = frame[column].astype(object)
        frame.loc[row, column] = value
        return frame

    return change


def test_a_table_of_answers_is_certified_verified_and_watched(run, run_json, given, tmp_path):
    table, out = given(), tmp_path / "certificate"
    told = run("certify", table, *COLUMNS, "--out", out, "--name", "credit score 3.2", "--contact", "desk 4")
    assert told.exit_code == 0, told.stderr
    certified = load_predictions(out)
    inputs = certified.certificate.inputs
    assert (inputs.n_errors, inputs.n) == (N_WRONG, N)
    assert certified.certificate.error_rate.value == clopper_pearson_bound(N_WRONG, N, 1 - 0.95)
    assert certified.certificate.subject.name == "credit score 3.2"
    assert "'credit score 3.2'" in certified.certificate.predictors[0]
    assert certified.certificate.summary in told.stdout
    page = html.unescape((out / "report.html").read_text())
    assert "credit score 3.2 (its answers are certified" in page
    assert "desk 4" in page
    assert "answers.csv" in page

    report = run_json("verify", out, table)
    assert report["ok"], report
    on_trust = {step["name"]: step["detail"] for step in report["steps"] if step["status"] == "trusted"}
    assert set(on_trust) == {"answers", "certified rows"}
    assert "in column 'predicted' are those of the classifier" in on_trust["answers"]
    watched = run_json("monitor", out, table, "--log", tmp_path / "log.json")
    assert (watched["error_rate"]["n_errors"], watched["taken"]["n_counted"]) == (N_WRONG, N)
    assert "credit score 3.2" in run("show", out).stdout
    assert run("declare", out, "--out", tmp_path / "card.md").exit_code == 0
    assert "'credit score 3.2'" in (tmp_path / "card.md").read_text()
    for again in (("report", out), ("report", out, table)):
        assert run(*again).exit_code == 0
        assert run("verify", out, table).exit_code == 0


@pytest.mark.parametrize("column", ["predicted", "case"])
def test_a_changed_row_is_named(run, given, tmp_path, column):
    run("certify", given(), *COLUMNS, "--out", tmp_path / "c", "--quiet")
    other = given(with_cell(30, column, "bad" if column == "case" else None), "other.csv")
    told = run("verify", tmp_path / "c", other)
    assert told.exit_code == 1
    assert "Row 31 (counting from 1, without the header) differs" in told.stdout
    renamed = given(lambda frame: frame.rename(columns={"region": "regions"}), "renamed.csv")
    assert "was it renamed to 'regions'?" in run("verify", tmp_path / "c", renamed).stdout


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_numbers_are_classes_in_any_file(run, given, tmp_path, name):
    def as_floats(frame):
        return frame.assign(predicted=frame["predicted"].astype(float))

    table = given(as_floats, name, labels=(0, 1))
    assert run("certify", table, *COLUMNS, "--out", tmp_path / "c", "--quiet").exit_code == 0
    assert load_predictions(tmp_path / "c").certificate.inputs.n_errors == N_WRONG
    assert run("verify", tmp_path / "c", table).exit_code == 0


def test_several_files_are_one_table(run, given, tmp_path):
    whole = given()
    parts = [given(lambda frame: frame[:80], "1.csv"), given(lambda frame: frame[80:], "2.csv")]
    for tables, out in (([whole], "one"), (parts, "two")):
        assert run("certify", *tables, *COLUMNS, "--out", tmp_path / out, "--quiet").exit_code == 0
    one, two = (load_predictions(tmp_path / out).certificate for out in ("one", "two"))
    assert (one.fingerprints, one.claims, one.subject) == (two.fingerprints, two.claims, two.subject)
    assert run("verify", tmp_path / "one", *parts).exit_code == 0


def test_classes_and_groups(run, given, tmp_path):
    asked = ("--class-conditional", "--class", "good", "--class", "bad", "--groups", "region")
    table = given()
    assert run("certify", table, *COLUMNS, "--out", tmp_path / "c", *asked, "--quiet").exit_code == 0
    certificate = load_predictions(tmp_path / "c").certificate
    assert [claim.given_class for claim in certificate.class_conditional] == ["'bad'", "'good'"]
    assert [group.name for group in certificate.by_group] == ["'north'", "'south'"]
    assert run("verify", tmp_path / "c", table).exit_code == 0
    dropped = run("certify", table, *COLUMNS, "--out", tmp_path / "d", *asked, "--drop", "region", "--quiet")
    assert dropped.exit_code == 0
    assert run("verify", tmp_path / "d", table).exit_code == 0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, ("--answers", "predict"), "no answers column 'predict'. Did you mean 'predicted'?"),
        (None, ("--target", "lable"), "no target column 'lable'. Did you mean 'label'?"),
        (None, ("--target", "predicted"), "--target and --answers both name 'predicted'"),
        (None, ("--drop", "predicted"), "cannot be dropped"),
        (None, ("--confusion",), "Name every possible class with --class"),
        (None, ("--confidence", "95"), "--confidence must be between 0 and 1"),
        (None, ("--name", " x"), "name must be one line"),
        (None, ("--groups", "label"), "is the target"),
        (
            with_cell(4, "predicted", None),
            (),
            "1 of 200 rows have no answer in column 'predicted', the first of them line 6",
        ),
        (with_cell(4, "label", None), (), "1 of 200 rows have no label in column 'label'"),
        (
            with_cell(4, "predicted", "Good"),
            (),
            "answers 'Good' in line 6, which is never a label in column 'label' ('bad', 'good')",
        ),
        (with_cell(0, "predicted", 0.73), (), "Scores and probabilities are not answers"),
        (lambda frame: frame.assign(label="good"), (), "contains only one class"),
    ],
)
def test_what_is_wrong_is_said(run, given, tmp_path, change, options, message):
    table = given() if change is None else given(change)
    told = run("certify", table, *COLUMNS, "--out", tmp_path / "c", *options)
    assert told.exit_code == 2, told.output
    assert message in told.stderr
    assert not (tmp_path / "c").exists()


def test_a_row_without_an_answer_can_have_a_class_of_its_own(run, given, tmp_path):
    table = given(with_cell(0, "predicted", "none"))
    assert run("certify", table, *COLUMNS, "--out", tmp_path / "c", "--class", "none").exit_code == 0
    assert load_predictions(tmp_path / "c").certificate.inputs.n_errors in (N_WRONG, N_WRONG + 1)
    assert run("verify", tmp_path / "c", table).exit_code == 0


def test_what_looks_odd_is_noted(run, run_json, given, tmp_path):
    bare = given(lambda frame: frame[["label", "predicted"]])
    (note,) = run_json("certify", bare, *COLUMNS, "--out", tmp_path / "c")["warnings"]
    assert note.startswith("The table has no columns besides 'label' and 'predicted'")
    copied = given(lambda frame: frame.assign(predicted=frame["label"]))
    (note,) = run_json("certify", copied, *COLUMNS, "--out", tmp_path / "d")["warnings"]
    assert note == "Every answer equals its label. Check that 'predicted' is not a copy of 'label'."


def test_rows_of_training_are_refused(run, given, tmp_path):
    seen = given(lambda frame: frame[:3].drop(columns="predicted").assign(more=1), "train.csv")
    told = run("certify", given(), *COLUMNS, "--out", tmp_path / "c", "--training-data", seen)
    assert told.exit_code == 2
    assert "3 of the 200 rows to certify were seen by the classifier in training" in told.stderr
    fresh = given(lambda frame: frame[:3].assign(case=[1, 2, 3]), "fresh.csv")
    told = run("certify", given(), *COLUMNS, "--out", tmp_path / "c", "--training-data", fresh)
    assert told.exit_code == 0, told.stderr
    other = given(lambda frame: frame.rename(columns=str.upper), "other.csv")
    told = run("certify", given(), *COLUMNS, "--out", tmp_path / "d", "--training-data", other)
    assert "no column in common" in told.stderr


def test_the_same_in_python(tmp_path):
    table = answers_table()
    X, y = table.drop(columns="label"), table["label"]
    folder = certify(AnswerColumn("predicted"), X, y, name="in Java").save(tmp_path / "c")
    assert json.loads((folder / "certificate.json").read_text())["subject"]["name"] == "in Java"
    report = verify(folder, X, y, model=AnswerColumn("predicted"))
    assert report.ok
    assert "answers" in [step.name for step in report.trusted]
    assert not verify(folder, X, y, model=AnswerColumn("region")).ok
    with pytest.raises(UnknownNameError, match="which X does not have"):
        certify(AnswerColumn("other"), X, y)
    for name in ("", " a", "a\nb", "a" * 201):
        with pytest.raises(DomainError, match="name must be one line"):
            certify(AnswerColumn("predicted"), X, y, name=name)
    with pytest.raises(DtypeError, match="name must be a string"):
        certify(AnswerColumn("predicted"), X, y, name=3)
    assert "name" not in certify(AnswerColumn("predicted"), X, y).certificate.to_dict()["subject"]
