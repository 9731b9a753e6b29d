"""The card of a certificate says what the certificate says, and no smaller number."""

import html
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.certificates.conftest import make_learned

from pbgnet.certificates import certify, certify_by_disagreement, load_model, verify
from pbgnet.certificates.format import percent_up

GOLDEN = Path(__file__).parents[2] / "golden"
HOSTILE = "</style><script>alert(1)</script>"


def text_of(page):
    """The words of a page, without style and tags."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


@pytest.fixture(scope="module")
def forest_certificate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, HOSTILE, "fine")
    tree = DecisionTreeClassifier(max_depth=2).fit(X[:100], y[:100])
    return certify(tree, X[100:], y[100:], class_conditional=True, classes=tree.classes_)


def test_a_card_says_bound_confidence_rows_and_what_to_compare_with(forest_certificate):
    certificate = forest_certificate.certificate
    shown = text_of(certificate._repr_html_())
    bound = percent_up(certificate.error_rate.value)
    assert f"Wrong at most {bound} % of the time" in shown
    assert "95 % confidence, 300 rows" in shown
    assert f"{certificate.inputs.n_errors} of 300 rows wrong" in shown
    assert f"always answering {certificate.majority.answer}" in shown
    assert "not stored with the certificate" in shown
    assert "trained, tuned or chosen with the help of the certified rows" in shown
    assert forest_certificate._repr_html_() == certificate._repr_html_()


def test_names_of_classes_stay_text(forest_certificate):
    page = forest_certificate._repr_html_()
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert HOSTILE in text_of(page).replace("' '", "''")


def test_the_card_of_a_network_names_it_and_its_prior_rows():
    model = load_model(GOLDEN / "v1-ensemble" / "model")
    shown = text_of(model._repr_html_())
    sizes = model.certificate.network.network
    assert f"{sizes.n_members} networks {sizes.n_features}-" in shown
    assert f"{model.prior_rows.size} rows, used for training" in shown
    assert "chosen after looking at the certified rows" in shown


def test_a_bound_that_does_not_beat_the_trivial_one_is_a_warning():
    good, poor = make_learned(shift=0.0)[0].certificate, make_learned(prior_scale=0.01)[0].certificate
    assert good.beats_majority
    assert 'class="pbgnet-card pbgnet-certified"' in good._repr_html_()
    assert not poor.beats_majority
    page = poor._repr_html_()
    assert 'class="pbgnet-card pbgnet-warn"' in page
    assert poor.shortcomings[0] in text_of(page)


def test_groups_classes_and_unanswered_rows_are_on_the_card():
    certificate = load_model(GOLDEN / "v1-groups-answered" / "model").certificate
    shown = text_of(certificate._repr_html_())
    assert "By group at most" in shown
    assert "When unsure Answers" in shown


def test_a_disagreement_counts_rows_without_labels():
    model, X, _ = make_learned(shift=0.0)
    fresh = X + 1e-3
    certified = certify_by_disagreement(model, model.predict, fresh)
    shown = text_of(certified._repr_html_())
    assert "compared with a certified one" in shown
    assert "rows answered unlike the certified classifier" in shown
    assert "error rate on the certified rows" not in shown


def test_a_verification_is_a_list_with_ticks_and_failures_first():
    model, X, y = make_learned(shift=0.0)
    report = verify(model, X, y)
    page = report._repr_html_()
    assert report.summary in text_of(page)
    assert page.count('aria-label="recomputed"') == len(report.recomputed)
    assert page.count('aria-label="taken on trust"') == len(report.trusted)
    assert "pbgnet-good" in page.split("<style>")[0]

    changed = np.array(y)
    changed[0] = next(label for label in y if label != y[0])
    failed = verify(model, X, changed, every_step=True)
    page = failed._repr_html_()
    assert "pbgnet-bad" in page.split("<style>")[0]
    assert page.count('aria-label="failed"') == len(failed.failures) > 0
    assert page.index('aria-label="failed"') < page.index('aria-label="taken on trust"')
    assert failed.failures[0].told in text_of(page)
