"""Other classifiers on the same rows: alternatives, which are no claims."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from tests.estimators.test_certified_pipeline import make_table

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import certify
from pbgnet.estimators import PBGNetClassifier, compare_classifiers, make_certified_pipeline
from pbgnet.exceptions import DtypeError, OptionError, UncertifiedError
from pbgnet.report import render_report


def test_an_alternative_is_what_a_pipeline_of_its_own_would_have_certified():
    X, y = make_table()
    ours = make_certified_pipeline("mlp", random_state=0, confidence=0.9).fit(X, y)
    found = compare_classifiers(ours, X, y, classifiers=["logistic_regression", "random_forest"])
    for name, claim in found.items():
        own = make_certified_pipeline(name, random_state=0, confidence=0.9).fit(X, y)
        if name == "logistic_regression":  # which no seed changes
            assert claim == own.certificate_.error_rate
        assert claim.value == clopper_pearson_bound(claim.evidence.n_errors, 200, claim.delta)
    page = render_report(ours.certified_predictions_, X, y, compared=found)
    assert "Alternative: random forest" in page
    assert 'id="alternatives"' in page
    assert 'id="alternatives"' not in render_report(ours.certified_predictions_, X, y)


def test_networks_are_compared_on_their_own_split():
    X, y = make_table()
    network = PBGNetClassifier((), algorithm="pbgnet_pre", max_epochs=1, random_state=0)
    fitted = make_certified_pipeline(network).fit(X, y)
    own = make_certified_pipeline("logistic_regression", random_state=0).fit(X, y)
    found = compare_classifiers(fitted, X, y, classifiers=["logistic_regression"])
    assert found["logistic_regression"] == own.certificate_.error_rate


def test_what_cannot_be_compared_is_refused():
    X, y = make_table()
    numbers = X[["income"]].to_numpy()
    alone = PBGNetClassifier((), algorithm="pbgnet", max_epochs=1, random_state=0).fit(numbers, y)
    with pytest.raises(OptionError, match="no prior rows"):
        compare_classifiers(alone, numbers, y)
    plain = certify(lambda X: np.full(len(X), "good"), numbers, y)
    with pytest.raises(OptionError, match="no prior rows"):
        compare_classifiers(plain, numbers, y)
    fitted = make_certified_pipeline("logistic_regression", random_state=0).fit(X, y)
    with pytest.raises(UncertifiedError, match="400 rows"):
        compare_classifiers(fitted, X[:-1], y[:-1])
    with pytest.raises(DtypeError, match="certified"):
        compare_classifiers("logistic_regression", X, y)


def test_a_page_names_candidates_and_what_was_fitted():
    X, y = make_table()
    fitted = make_certified_pipeline(["logistic_regression", "mlp"], random_state=0).fit(X, y)
    page = render_report(fitted.certified_predictions_, X, y)
    assert "What was it chosen from?" in page
    for candidate in fitted.certificate_.subject.fit.candidates:
        assert f"{candidate.n_errors} of 200" in page
    with pytest.raises(UncertifiedError, match="not the table"):
        render_report(fitted.certified_predictions_, X, y[::-1])


def test_an_alternative_with_a_smaller_bound_is_named_and_not_praised_away():
    X, y = make_table()
    poor = make_certified_pipeline(DummyClassifier(), random_state=0).fit(X, y)
    found = compare_classifiers(poor, X, y, classifiers=["random_forest"])
    assert "Of the alternatives, random forest has the smaller bound" in render_report(
        poor.certified_predictions_, X, y, compared=found
    )
    good = make_certified_pipeline("random_forest", random_state=0).fit(X, y)
    worse = {"dummy": poor.certificate_.error_rate}
    assert "No other route" in render_report(good.certified_predictions_, X, y, compared=worse)
