"""The page of several labels: counts and bounds of each, margins, calibration; of networks and of answers."""

import re
from html import escape, unescape

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from pbgnet.certificates import Classes, PriorRecord, certify, certify_network, round_up
from pbgnet.networks import AggregatedNetwork
from pbgnet.report import hamming_bars, render_report
from pbgnet.report.label_calibration import MOST_LABELS, label_bins
from pbgnet.report.label_errors import MOST_DRAWN, MOST_LISTED, label_errors


def make_labels(n_labels=3, n=400, names=None, **terms):
    """Certify a linear network that reads each label off a column of its own, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_labels))
    Y = (X + 0.5 * rng.normal(size=X.shape) > np.linspace(-0.5, 0.5, n_labels)).astype(int)
    weights = 3.0 * torch.eye(n_labels, dtype=torch.float64)
    model = certify_network(
        AggregatedNetwork([weights], intercept=False),
        X,
        Y,
        classes=tuple(names or [f"label {k}" for k in range(n_labels)]),
        prior=PriorRecord("pretrained", "trained on other rows", n_rows=n // 2),
        prior_rows=range(n // 2),
        certified_rows=range(n // 2, n),
        **({"certificate": "held-out"} | terms),
    )
    return model, X, Y


@pytest.fixture(scope="module")
def labels():
    return make_labels(per_label=True)


def text_of(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page)))


def test_it_says_what_the_certificate_says(labels):
    model, X, Y = labels
    page, certificate = render_report(model, X, Y), model.certificate
    assert certificate.statement in text_of(page)
    for name, claim in (("error-rate", certificate.error_rate), ("hamming-loss", certificate.hamming_loss)):
        assert f'id="{name}">{round_up(claim.value)}</dd>' in page
    wrong = (model.predict(X) != Y)[200:]
    told = text_of(page)
    for k, claim in enumerate(certificate.per_label):
        counts = (
            Y[200:, k].sum(),
            (wrong[:, k] & (Y[200:, k] == 1)).sum(),
            (wrong[:, k] & (Y[200:, k] == 0)).sum(),
        )
        cells = (*counts, wrong[:, k].sum(), f"{wrong[:, k].mean():.4f}", round_up(claim.value))
        assert re.search(rf"label {k} {' '.join(map(str, cells))}", told)
    assert f"rows with any wrong label: {wrong.any(axis=1).sum()} of 200" in told
    assert "All bounds hold together" in told
    assert 'class="confusion"' not in page
    assert page.count('id="reliability-') >= 3


def test_without_bounds_on_labels_it_says_so():
    model, X, Y = make_labels()
    told = text_of(render_report(model, X, Y))
    assert "No single label has a bound." in told
    assert "certified bound" not in told


@pytest.mark.parametrize("certificate", ["vote", "seeger"])
def test_other_routes_are_drawn_beside_what_was_measured(certificate):
    model, X, Y = make_labels(certificate=certificate)
    page = render_report(model, X, Y)
    wrong = (model.predict(X) != Y)[200:]
    assert f"Measured on the certified rows : {wrong.mean():.4f}" in text_of(page)
    assert hamming_bars(model.certificate, 0.25)[0].value == 0.25
    # Not the linear loss, which the bound was computed from.
    assert all(bar.colour != "measured" for bar in hamming_bars(model.certificate))


def test_twice_a_bound_is_more_often_for_any_of_several_labels():
    model, *_ = make_labels(certificate="seeger")
    certificate = model.certificate
    assert certificate.error_rate.words == "6 times the kl bound"
    assert certificate.hamming_loss.words == "twice the kl bound"


def test_counts_add_up(labels):
    model, X, Y = labels
    answered, truth = model.predict(X)[200:], Y[200:]
    found = label_errors(model.certificate, model.inputs.classes, truth, answered)
    assert sum(found.n_wrong) == 200
    assert sum(k * count for k, count in enumerate(found.n_wrong)) == (answered != truth).sum()
    assert [line.n_errors for line in found.lines] == (answered != truth).sum(axis=0).tolist()
    assert found.rows_by_wrong[0][:2] == ("0 of 3", str(found.n_wrong[0]))


def test_many_labels_show_those_with_most_errors(labels):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, size=(50, 60))
    answered = np.where(rng.random(truth.shape) < np.linspace(0, 0.5, 60), 1 - truth, truth)
    found = label_errors(labels[0].certificate, Classes(tuple(range(60))), truth, answered)
    errors = (answered != truth).sum(axis=0)
    assert len(found.listed) == MOST_LISTED
    assert min(line.n_errors for line in found.listed) >= np.sort(errors)[60 - MOST_LISTED]
    assert [int(line.name) for line in found.listed] == sorted(int(line.name) for line in found.listed)
    page = found.__html__()
    assert f"Of 60 labels, the {MOST_DRAWN} with most errors" in page
    assert "And 20 more, with fewer errors" in page


def test_calibration_is_that_of_each_label(labels):
    model, X, Y = labels
    bins = label_bins(model.answers, model.inputs.classes.names)
    output = model.decision_function(X)[200:]
    for k, found in enumerate(bins.values()):
        assert sum(bin.count for bin in found) == 200
        assert sum(bin.right for bin in found) == ((output[:, k] > 0) == Y[200:, k]).sum()
        mean = sum(bin.count * bin.share for bin in found) / 200
        assert mean == pytest.approx(((1 + np.abs(output[:, k])) / 2).mean())
    many, *_ = make_labels(n_labels=MOST_LABELS + 3)
    assert len(label_bins(many.answers, many.inputs.classes.names)) == MOST_LABELS


def test_a_classifier_known_by_its_answers_has_a_page():
    _, X, Y = make_labels()
    tree = DecisionTreeClassifier(random_state=0).fit(X[:200], Y[:200])
    certified = certify(tree, X[200:], Y[200:], per_label=True)
    page = render_report(certified, X[200:], Y[200:])
    wrong = tree.predict(X[200:]) != Y[200:]
    assert certified.certificate.statement in text_of(page)
    assert "<h1>Certified classifier: 0, 1 and 2</h1>" in page
    assert f"{wrong[:, 1].mean():.4f} {round_up(certified.certificate.per_label[1].value)}" in text_of(page)


HOSTILE = "<img src=http://evil.invalid/x onerror=console.error(1)><script>console.error(2)</script>"


def test_it_fits_a_telephone_and_hostile_names_run_nothing(browser):
    model, X, Y = make_labels(n_labels=4, names=(HOSTILE, "b" * 200, "c", "d"), per_label=True)
    page = render_report(model, X, Y)
    assert "<script" not in page
    widths = (390, 1280)
    frames = "".join(f'<iframe srcdoc="{escape(page)}" width="{w}" height="900"></iframe>' for w in widths)
    script = (
        f'<!doctype html><body style="margin:0">{frames}<script>onload = () => {{'
        "document.body.dataset.found = [...document.querySelectorAll('iframe')].map(frame => {"
        "const root = frame.contentDocument.documentElement;"
        "return root.scrollWidth - root.clientWidth}).join()}</script></body>"
    )
    process = browser.open(script, "--dump-dom", "--virtual-time-budget=4000")
    found = re.search(r'data-found="([^"]*)"', process.stdout).group(1)
    assert [int(overflow) <= 0 for overflow in found.split(",")] == [True, True], found
    assert browser.console_lines(process) == []
    assert browser.foreign_urls() == set()
