"""Networks that answer only where they are sure: claims in their own certificate, kept to after loading."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.certificates.conftest import verify

from pbgnet.certificates import Terms, load_model
from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline
from pbgnet.exceptions import DomainError, DtypeError, OptionError, PBGNetWarning


def table(n_classes):
    return make_classification(
        1600,
        8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep={2: 0.5, 3: 1.0}[n_classes],
        flip_y=0.02,
        random_state=2,
    )


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    return table(request.param)


@pytest.fixture(scope="module")
def fitted(data):
    return PBGNetClassifier(max_error=0.06, max_epochs=15, random_state=0).fit(*data)


def test_the_claims_are_in_its_own_certificate(fitted):
    certificate = fitted.certificate_
    assert [claim.quantity for claim in certificate.claims[1:]] == [
        "error rate of answered rows",
        "rate of unanswered rows",
    ]
    assert certificate.answered_error_rate.value == 0.06
    assert any("thresholds for answering" in told for told in certificate.choices.on_prior_rows)
    assert sum(claim.delta for claim in certificate.claims) == pytest.approx(0.05)


def test_sure_rows_are_answered_and_predict_answers_all(fitted, data):
    X, _ = data
    answers, decisions = fitted.predict_or_abstain(X), fitted.decision_function(X)
    if decisions.ndim == 1:
        scores = np.abs(decisions)
    else:
        ordered = np.sort(decisions, axis=1)
        scores = ordered[:, -1] - ordered[:, -2]
    sure = scores >= fitted.certificate_.threshold
    np.testing.assert_array_equal([answer is not None for answer in answers], sure)
    assert sure.mean() > 0
    assert sure.all() == (fitted.certificate_.threshold == 0.0)
    predicted = fitted.predict(X)
    assert predicted.shape == (len(X),)
    np.testing.assert_array_equal(answers[sure].astype(int), predicted[sure])
    certified = sure[fitted.certified_rows_]
    assert certified.mean() == pytest.approx(fitted.certificate_.answered_share)


def test_it_verifies_after_loading_and_answers_alike(fitted, data, tmp_path):
    fitted.save(tmp_path / "model")
    assert verify(tmp_path / "model", *data).ok
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict_or_abstain(data[0][:99]), fitted.predict_or_abstain(data[0][:99])
    )


def test_forged_claims_are_noticed(fitted, data):
    model = fitted.certified_model_
    claims = model.certificate.claims
    settings, evidence = claims[1].settings, claims[1].evidence
    lower = replace(settings, thresholds=tuple(t / 2 for t in settings.thresholds))
    fewer = replace(evidence, wrong=tuple(max(0, count - 3) for count in evidence.wrong))
    for forged, step in (
        ((claims[0], replace(claims[1], settings=lower), replace(claims[2], settings=lower)), "settings"),
        ((claims[0], replace(claims[1], evidence=fewer), claims[2]), "evidence"),
        ((claims[0], claims[1], replace(claims[2], value=claims[2].value / 2)), "bound"),
        ((claims[0], claims[1]), "choices"),
    ):
        changed = replace(model, certificate=replace(model.certificate, claims=forged))
        assert step in {failed.name for failed in verify(changed, *data).failures}


def test_a_given_coverage(data):
    fitted = PBGNetClassifier(coverage=0.6, max_epochs=15, random_state=0).fit(*data)
    certificate = fitted.certificate_
    assert certificate.answered_share == pytest.approx(0.6, abs=0.1)
    assert certificate.answered_error_rate.value < 1
    assert fitted.verify(*data).ok


def test_pipelines_of_scikit_learn_survive(data):
    classifier = PBGNetClassifier(max_error=0.05, max_epochs=5, n_members=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier).fit(*data)
    assert pipeline.score(*data) > 0.5


def test_any_classifier_in_a_certified_pipeline(data, tmp_path):
    forest = RandomForestClassifier(30, random_state=0)
    pipeline = make_certified_pipeline(forest, max_error=0.08, random_state=0).fit(*data)
    assert pipeline.verify(*data).ok
    answers = pipeline.predict_or_abstain(data[0])
    sure = pipeline.predict_proba(data[0]).max(axis=1) >= pipeline.certificate_.threshold
    np.testing.assert_array_equal([answer is not None for answer in answers], sure)
    pipeline.save(tmp_path / "folder")
    assert verify(tmp_path / "folder", *data, model=pipeline).ok


class Blunt(DummyClassifier):
    """It answers, and does not say how sure it is."""

    predict_proba = property()


def test_a_pipeline_whose_classifier_has_no_scores(data):
    with pytest.raises(OptionError, match="predict_proba"):
        make_certified_pipeline(Blunt(), max_error=0.05, random_state=0).fit(*data)


@pytest.mark.parametrize("error", [0, 1, -0.2, 2])
def test_impossible_targets(data, error):
    with pytest.raises(DomainError, match="max_error"):
        PBGNetClassifier(max_error=error).fit(*data)
    with pytest.raises(DomainError, match="max_error"):
        make_certified_pipeline(RandomForestClassifier(5), max_error=error).fit(*data)


def test_impossible_terms():
    with pytest.raises(OptionError, match="held-out"):
        Terms(max_error=0.1)
    with pytest.raises(OptionError, match="Give max_error or coverage, not both"):
        Terms(max_error=0.1, coverage=0.5, certificate="held-out")
    with pytest.raises(DtypeError):
        Terms(max_error="0.1", certificate="held-out")
    with pytest.raises(DomainError, match="coverage"):
        Terms(coverage=0, certificate="held-out")


def test_without_a_threshold_it_says_what_to_ask_for(data):
    fitted = PBGNetClassifier(max_epochs=2, n_members=2, random_state=0).fit(*data)
    with pytest.raises(OptionError, match="max_error"):
        fitted.predict_or_abstain(data[0])


def test_too_few_rows_answer_none(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)
        fitted = PBGNetClassifier(max_error=0.01, max_epochs=2, n_members=2, random_state=0).fit(
            X[:90], y[:90]
        )
    assert fitted.certificate_.threshold is None
    assert set(fitted.predict_or_abstain(X[:20]).tolist()) == {None}
    assert "Answers no rows" in fitted.certificate_.summary
    assert fitted.verify(X[:90], y[:90]).ok
