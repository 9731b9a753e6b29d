"""The page in a folder: written by `save`, the same each time, and told from one that was edited."""

import numpy as np
import pytest

from pbgnet.certificates import certify, certify_by_disagreement, load_certified, save_model
from pbgnet.exceptions import LabelError
from pbgnet.pages import page_difference
from pbgnet.report import (
    REPORT,
    About,
    Kept,
    TestSet,
    identity_of,
    render_folder,
    report_difference,
    save_certified,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=200) > 0, "yes", "no")


def answer(rows):
    return np.where(rows[:, 0] > 0, "yes", "no")


def test_certify_and_save_write_a_whole_report(tmp_path):
    folder = certify(answer, X, Y).save(tmp_path / "certified", data="loans.csv", contact="ask@bank.example")
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert page == render_folder(folder, X, Y), "the same with the table, from the folder only"
    assert 'id="errors"' in page
    for words in ("loans.csv", "ask@bank.example"):
        assert words in page
    bare = render_folder(folder)
    assert 'id="errors"' not in bare
    assert report_difference(folder, X, Y) == ""
    (folder / REPORT).write_text(bare, encoding="utf-8")
    assert report_difference(folder, X, Y) == report_difference(folder) == ""


@pytest.mark.parametrize("edited", ["Wrong at most", "loans.csv", "Pass it on"])
def test_an_edited_report_is_told(tmp_path, edited):
    folder = certify(answer, X, Y).save(tmp_path / "certified", data="loans.csv")
    path = folder / REPORT
    page = path.read_text(encoding="utf-8")
    if edited == "Pass it on":
        path.write_text(page.replace("<footer>", f"<p>{edited}</p><footer>"), encoding="utf-8")
    else:
        path.write_text(page.replace(edited, "Something else", 1), encoding="utf-8")
    said = report_difference(folder, X, Y)
    added = f"it also says {edited!r}"
    assert said == (added if edited == "Pass it on" else f"it says 'Something else' instead of {edited!r}")
    path.unlink()
    assert report_difference(folder, X, Y) is None


def test_the_page_of_a_network_comes_from_its_folder(subject, tmp_path):
    folder = save_model(subject.model, tmp_path / "model")
    model = load_certified(folder)
    tested = TestSet(96, 3, 0, identity_of(model))
    Kept(About("signs.csv"), subject.history, tested).write(folder)
    page = render_folder(folder, subject.X, subject.y)
    assert page == render_folder(folder, subject.X, subject.y)
    for words in ("signs.csv", "Measured on 96 test rows", "curve-loss", 'id="columns"'):
        assert words in page
    bare = render_folder(folder)
    assert model.certificate.statement in bare
    assert 'id="columns"' not in bare
    with pytest.raises(LabelError, match="needs the labels"):
        render_folder(folder, subject.X)


def test_a_network_is_saved_with_the_page_that_needs_no_table(subject, tmp_path):
    folder = save_certified(subject.model, tmp_path / "model", history=subject.history)
    path = folder / REPORT
    page = path.read_text(encoding="utf-8")
    assert 'id="errors"' in page
    assert 'id="columns"' not in page
    assert report_difference(folder, subject.X, subject.y) == ""
    path.write_text(page.replace("Wrong at most", "Never wrong", 1), encoding="utf-8")
    assert "Never wrong" in (report_difference(folder, subject.X, subject.y) or "")


def test_what_belongs_to_another_model_is_left_out(subject, tmp_path):
    folder = save_model(subject.model, tmp_path / "model")
    Kept(tested=TestSet(96, 3, 0, "another")).write(folder)
    assert Kept.of_folder(folder, subject.model).tested is None


def test_a_disagreement_needs_no_labels(subject, tmp_path):
    model = subject.model
    rows = np.random.default_rng(7).normal(size=(150, 3))
    folder = certify_by_disagreement(model, model.predict, rows).save(tmp_path / "copy")
    assert report_difference(folder, rows) == ""


def test_single_precision_may_differ_in_its_last_digit_only():
    page = '<p>{}</p><section id="columns"><b>\N{MINUS SIGN}{}</b></section><p>x</p>'
    assert page_difference(page.format("0.1", "1.25"), page.format("0.1", "1.26"), "columns") == ""
    assert "1.27" in page_difference(page.format("0.1", "1.25"), page.format("0.1", "1.27"), "columns")
    assert "0.2" in page_difference(page.format("0.1", "1.25"), page.format("0.2", "1.25"), "columns")
    assert page_difference(page.format("0.1", "1.25"), page.format("0.1", "1.26")) != ""
    assert page_difference("<p class='a'>x</p>", "<p>x</p>") == "its markup differs, not its words"


def test_the_difference_is_shown_where_it_is():
    line = "the same words " * 20
    told = page_difference(f"<p>{line}at most 1 %</p>", f"<p>{line}at most 31 %</p>")
    assert "at most 1 %' instead of" in told
    assert told.endswith("at most 31 %'")
