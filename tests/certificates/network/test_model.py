"""The certified model predicts by itself, in float64, in the user's own words."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.certificates import Inputs, PriorRecord, Split, certify_network
from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError
from pbgnet.networks import AggregatedNetwork


def linear_model(X, labels, classes, **options):
    d = X.shape[1]
    weights = [torch.zeros(1, d + 1)]
    weights[0][0, 0] = 4.0
    options = {"prior": PriorRecord("zero"), "prior_rows": [], "certified_rows": range(X.shape[0]), **options}
    return certify_network(
        AggregatedNetwork(weights, [torch.zeros(1, d + 1)]), X, labels, classes=classes, **options
    )


def test_predictions_are_the_vote_of_the_aggregate(build):
    model, X, labels = build()
    decision, probability, vote = model.decision_function(X), model.predict_proba(X), model.predict(X)
    assert decision.dtype == probability.dtype == np.float64
    assert decision.shape == (240,)
    assert probability.shape == (240, 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(probability[:, 1], (1 + decision) / 2)
    np.testing.assert_array_equal(vote, np.where(decision > 0, "yes", "no"))
    wrong = (vote != labels)[model.certified_rows].sum()
    assert wrong == model.certificate.inputs.n_errors
    assert np.mean(vote == labels) > 0.8
    assert model.predict(X[:0]).shape == (0,)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (-1, 1), (False, True), (0.5, 1.5)])
def test_labels_keep_their_type(classes):
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.array(classes)[(X[:, 0] > 0).astype(int)]
    model = linear_model(X, labels, tuple(labels.dtype.type(c) for c in classes))
    predicted = model.predict(X)
    assert predicted.dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(predicted, labels)
    assert model.classes == classes
    assert type(model.classes[0]) is type(classes[0])


def test_rows_in_other_forms_give_the_same():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = linear_model(frame, X[:, 0] > 0, (False, True))
    expected = model.decision_function(X)
    for form in (frame, frame[["b", "a"]], sparse.csr_array(X), sparse.coo_matrix(X), X.tolist()):
        np.testing.assert_allclose(model.decision_function(form), expected, rtol=0, atol=1e-15)
    with pytest.raises(ShapeError, match="has no column 'b'"):
        model.predict(frame[["a"]])
    with pytest.raises(ShapeError, match="rows with 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(DtypeError, match="contains text"):
        model.predict(frame.astype(str))
    with pytest.raises(DtypeError, match="expects numbers"):
        model.predict(X.astype(str))
    with pytest.raises(DomainError, match="Impute"):
        model.predict(X * np.nan)
    flags = pd.DataFrame({"a": [True, False], "b": [0.0, 1.0]})
    np.testing.assert_array_equal(model.predict(flags), model.predict(flags.astype(float)))


def test_a_leaking_model_cannot_exist(model):
    with pytest.raises(PriorLeakageError, match="also prior rows"):
        dataclasses.replace(model, split=Split(model.certified_rows[:1], model.certified_rows))


def test_parts_that_do_not_fit_are_refused(model):
    with pytest.raises(ShapeError, match=r"takes \d+ features, but there are names for 1"):
        dataclasses.replace(model, inputs=Inputs(model.inputs.classes, ("a",)))
    with pytest.raises(ValueError, match="read-only"):
        model.certified_rows[0] = 1
