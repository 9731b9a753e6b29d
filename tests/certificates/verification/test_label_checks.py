"""What `verify` finds in a certificate of several labels that is not what the answers give."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.tree import DecisionTreeClassifier
from tests.certificates.conftest import verify

from pbgnet.certificates import certify


@pytest.fixture(scope="module")
def case():
    X, Y = make_multilabel_classification(n_samples=240, n_features=5, n_classes=3, random_state=1)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:120], Y[:120])
    return tree, X[120:], Y[120:], certify(tree, X[120:], Y[120:], per_label=True)


def failures(certified, X, Y, model=None):
    return [step.name for step in verify(certified, X, Y, model=model).failures]


def test_all_is_recomputed(case):
    tree, X, Y, certified = case
    report = verify(certified, X, Y, model=tree)
    assert report.ok, str(report)
    assert [step.name for step in report.trusted] == ["certified rows"]
    assert {step.name for step in verify(certified, X, Y).trusted} == {"answers", "certified rows"}


def test_another_classifier_is_found(case):
    _, X, Y, certified = case
    report = verify(certified, X, Y, model=lambda X: Y)
    (step,) = report.failures
    assert step.name == "answers"
    assert step.found == f"{certified.certificate.inputs.n_errors} different answers"


def test_a_changed_label_is_found(case):
    tree, X, Y, certified = case
    changed = Y.copy()
    right = np.flatnonzero((tree.predict(X) == Y).all(axis=1))[0]
    changed[right, 1] = 1 - changed[right, 1]
    found = failures(certified, X, changed, tree)
    assert {"data: labels", "error rate", "evidence"} <= set(found)
    assert "answers" not in found


def test_a_changed_answer_is_found(case):
    tree, X, Y, certified = case
    answers = certified.predictions.copy()
    answers[0, 0] = 1 - answers[0, 0]
    found = failures(replace(certified, predictions=answers), X, Y, tree)
    assert (
        {"answers stored", "answers", "error rate", "evidence"} >= set(found) >= {"answers stored", "answers"}
    )
    assert "evidence" in found


def forged(certified, **changes):
    return replace(certified, certificate=replace(certified.certificate, **changes))


def test_claims_that_were_not_paid_for_are_found(case):
    _, X, Y, certified = case
    claims = certified.certificate.claims
    assert "shares of delta" in failures(forged(certified, claims=claims[:3]), X, Y)
    assert "shares of delta" in failures(forged(certified, claims=(claims[1], claims[0], *claims[2:])), X, Y)
    unpaid = replace(certified.certificate.choices, unions=())
    assert {"delta", "shares of delta"} <= set(failures(forged(certified, choices=unpaid), X, Y))


def test_other_bets_are_found(case):
    """Bets chosen by the certified rows would make a smaller bound, and are not paid for."""
    _, X, Y, certified = case
    hamming, *others = certified.certificate.claims
    bets = replace(hamming.settings, bets=(0.9 * hamming.settings.bets[0],))
    found = failures(forged(certified, claims=(replace(hamming, settings=bets), *others)), X, Y)
    assert "shares of delta" in found


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_lowered_bound_is_found(case, place):
    _, X, Y, certified = case
    claims = list(certified.certificate.claims)
    claims[place] = replace(claims[place], value=0.9 * claims[place].value)
    assert "bound" in failures(forged(certified, claims=tuple(claims)), X, Y)


def test_labels_of_another_number_fail_without_an_error(case):
    tree, X, Y, certified = case
    found = failures(certified, X, Y[:, :2], tree)
    assert {"data: labels", "error rate", "majority answer", "evidence"} <= set(found)
    assert "error rate" in failures(certified, X, Y[:, 0], tree)
