"""All routes on one split: each is what its bound says, chosen without the certified rows; and their page."""

import dataclasses
import re

import numpy as np
import pytest

from pbgnet.bounds import clopper_pearson_bound, maurer_xi
from pbgnet.datasets import certified_split, load_dataset
from pbgnet.exceptions import UnknownNameError
from pbgnet.experiments.certificates.bounds_table import CertificateSettings, certify_split
from pbgnet.experiments.certificates.page import Circumstances, certificate_page
from pbgnet.training import Course, PriorCourse

QUICK = CertificateSettings(
    hidden_layer_sizes=(6,),
    prior_course=PriorCourse(n_steps=200, fewest_epochs=5, most_epochs=40),
    tanh_course=Course(64, 10),
)
HERE = Circumstances("2026-01-02", "a machine", "some versions", 12.3)


@pytest.fixture(scope="module")
def found():
    return certify_split("breast", 0, QUICK)


def test_routes_are_in_their_order(found):
    assert found.loss <= found.mixture <= found.maurer <= found.paper <= 1
    assert found.prior_loss <= found.chernoff
    assert found.doubled == pytest.approx(2 * found.mixture)
    assert found.n_prior + found.n == 426
    assert 0 < found.seconds < 60


def test_constants_are_those_of_the_paper_and_of_maurer(found):
    """The budgets of the two kl bounds, computed backwards, differ by the logarithm of the constants."""

    def budget(bound):
        q, p = found.loss, bound
        return found.n * (q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))

    difference = np.log(2 * np.sqrt(found.n) / maurer_xi(found.n))
    assert budget(found.paper) - budget(found.maurer) == pytest.approx(difference, abs=1e-3)
    assert budget(found.maurer) == pytest.approx(
        found.divergence + np.log(maurer_xi(found.n) / QUICK.delta), abs=1e-3
    )


def test_one_class_is_certified_on_the_certified_rows_only(found):
    split = certified_split(load_dataset("breast"), 0)
    majority = np.sign(split.y_train[split.prior_rows].sum())
    rest = np.delete(split.y_train, split.prior_rows)
    assert found.constant == clopper_pearson_bound(int((rest != majority).sum()), found.n, QUICK.delta)


@pytest.mark.parametrize("name", ["clopper_pearson", "tanh"])
def test_counted_bounds_are_those_of_whole_numbers_of_errors(found, name):
    possible = clopper_pearson_bound(np.arange(found.n), found.n, QUICK.delta)
    assert getattr(found, name) in possible
    assert getattr(found, name) < found.constant


def test_the_vote_is_one_of_several_networks(found):
    assert 0 <= found.n_right < found.n_networks
    assert 0 < found.vote <= 1


def test_choices_do_not_depend_on_the_certified_labels(found, monkeypatch):
    """Flip all labels of S1: whatever S0 decides stays, and whatever is certified there is wrong."""
    split = certified_split(load_dataset("breast"), 0)
    labels = -split.y_train
    labels[split.prior_rows] *= -1
    other = dataclasses.replace(split, y_train=labels)
    monkeypatch.setattr(
        "pbgnet.experiments.certificates.bounds_table.certified_split",
        lambda dataset, seed, prior_fraction: other,
    )
    flipped = certify_split("breast", 0, QUICK)
    for name in ("deviation", "weight_decay", "first_factor", "later_factor", "validation_loss"):
        assert getattr(flipped, name) == getattr(found, name)
    assert (flipped.n_networks, flipped.n_right) == (found.n_networks, found.n_right)
    for name in ("test_error", "test_loss", "tanh_test_error"):
        assert getattr(flipped, name) == getattr(found, name)
    for name in ("chernoff", "clopper_pearson", "tanh"):
        assert getattr(flipped, name) > 0.8


def test_the_tanh_network_has_the_best_of_its_rates(monkeypatch):
    monkeypatch.setattr("pbgnet.experiments.certificates.bounds_table.TANH_RATES", (1e-9, 0.01))
    assert certify_split("breast", 0, QUICK).tanh < 0.2  # one that does not move is a coin


def test_an_unknown_data_set_is_refused():
    with pytest.raises(UnknownNameError, match="choose one of"):
        certify_split("iris", 0, QUICK)


def tables_of(page):
    """Return the rows of all tables, by the name of the data set."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [dict(zip(rows[i], rows[i + 1], strict=True)) for i in range(0, len(rows), 2)]


def test_the_page_shows_every_route(found):
    losses, errors, choices = tables_of(certificate_page([found], QUICK, HERE))
    assert losses["mixture"] == f"{found.mixture:.4f}"
    assert losses["seeger, paper"] == f"{found.paper:.4f}"
    assert losses["chernoff"] == f"{found.chernoff:.4f}"
    assert errors["Clopper-Pearson"] == f"{found.clopper_pearson:.4f}"
    assert errors["tanh"] == f"{found.tanh:.4f}"
    assert errors["vote (T, k)"] == f"{found.vote:.4f} ({found.n_networks}, {found.n_right})"
    assert choices["decay"] == f"{found.weight_decay:g}"


def test_the_page_says_where_it_comes_from(found):
    page = certificate_page([found], QUICK, HERE)
    assert "Split 0." in page
    assert page.rstrip().endswith("2026-01-02; a machine; some versions; 12 s in all.")
    now = Circumstances.now(1.0)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", now.date)
    assert "torch" in now.versions


def test_the_best_bound_of_the_paper_stands_beside(found):
    known = dataclasses.replace(found, dataset="mnist49")
    assert tables_of(certificate_page([known], QUICK, HERE))[0]["best of the paper"] == "0.028"
    assert tables_of(certificate_page([found], QUICK, HERE))[0]["best of the paper"] == ""


@pytest.mark.parametrize(("change", "word"), [(-0.0001, "yes"), (0.0, "yes"), (0.0001, "no")])
def test_the_tanh_network_is_compared_with(found, change, word):
    result = dataclasses.replace(found, clopper_pearson=0.02 + change, tanh=0.02)
    assert tables_of(certificate_page([result], QUICK, HERE))[1]["at or below tanh"] == word


def test_splits_are_averaged(found):
    other = dataclasses.replace(found, seed=1, mixture=found.mixture + 0.1)
    page = certificate_page([found, other], QUICK, HERE)
    assert "Means over splits 0, 1." in page
    assert tables_of(page)[0]["mixture"] == f"{found.mixture + 0.05:.4f}"
