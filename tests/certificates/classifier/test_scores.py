"""How sure a classifier is: asked for in the ways classifiers have, and refused if it is no score."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from pbgnet.certificates.classifier import RowScores
from pbgnet.certificates.classifier.scores import check_scores_of_rows, measure_scores, score_quantity
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    OptionError,
    ShapeError,
    UncertifiedError,
)


@pytest.fixture(scope="module", params=[2, 4])
def data(request):
    return make_blobs(120, centers=request.param, random_state=0)


def measured(model, X, scores=None):
    return measure_scores(score_quantity(scores, model), scores, model, X)


def test_probabilities_come_first(data):
    model = LogisticRegression().fit(*data)
    found = measured(model, data[0])
    assert found.quantity == "largest probability"
    np.testing.assert_array_equal(found.values, model.predict_proba(data[0]).max(axis=1))


def test_a_decision_function_is_read_as_a_lead(data):
    model = LinearSVC().fit(*data)
    found, decisions = measured(model, data[0]), model.decision_function(data[0])
    if decisions.ndim == 1:
        np.testing.assert_array_equal(found.values, np.abs(decisions))
    else:
        ordered = np.sort(decisions, axis=1)
        np.testing.assert_allclose(found.values, ordered[:, -1] - ordered[:, -2])
    assert found.quantity == "margin"
    assert found.values.min() >= 0


def test_a_function_of_the_users_has_a_name(data):
    def nearness(model, X):
        return -np.abs(X[:, 0])

    found = measured(None, data[0], nearness)
    assert found.quantity == "score 'nearness'"
    assert found.lowest is None
    again = RowScores.from_dict(found.to_dict())
    np.testing.assert_array_equal(again.values, found.values)


def test_without_scores_the_message_says_what_to_pass():
    with pytest.raises(OptionError, match=r"predict_proba.*scores\(model, X\)"):
        score_quantity(None, lambda X: X)
    with pytest.raises(OptionError, match="name"):
        score_quantity(lambda model, X: X, None)
    with pytest.raises(DtypeError, match="function"):
        score_quantity(0.5, None)

    def three(model, X, y):
        return y

    with pytest.raises(OptionError, match="three"):
        score_quantity(three, None)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([0.1, np.nan], DomainError, "NaN or infinite on 1 of 2"),
        ([0.1, np.inf], DomainError, "NaN or infinite"),
        ([0.1, 0.2, 0.3], ShapeError, "each of the 2 rows"),
        (0.5, ShapeError, "each row"),
        ([[0.1, 0.2], [0.3, 0.4]], ShapeError, "lead of the first over the second"),
        (["a", "b"], DtypeError, "numbers"),
        (np.ma.array([0.1, 0.2], mask=[True, False]), DomainError, "mask"),
    ],
)
def test_what_is_no_score_is_refused(values, error, words):
    def own(model, X):
        return values

    with pytest.raises(error, match=words):
        measured(None, np.zeros((2, 1)), own)


def test_ranks_are_refused_because_they_depend_on_other_rows():
    X = np.random.default_rng(0).normal(size=(20, 1))

    def ranks(model, X):
        return np.argsort(np.argsort(X[:, 0]))

    with pytest.raises(UncertifiedError, match="every other row"):
        check_scores_of_rows(measured(None, X, ranks), ranks, None, X)


def test_damaged_files_are_refused():
    for content in ({"quantity": "margin"}, {"quantity": "margin", "values": ["a"]}, []):
        with pytest.raises(DamagedFileError):
            RowScores.from_dict(content)
    with pytest.raises(DomainError, match="no score named"):
        RowScores("margin; rm", np.ones(2))
