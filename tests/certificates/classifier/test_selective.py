"""Any classifier that answers only where it is sure: certified, saved, loaded and verified."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.certificates.conftest import verify

from pbgnet.certificates import certify_selective, load_predictions
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    DuplicateRowsWarning,
    OptionError,
    PriorLeakageError,
    ShapeError,
    UncertifiedError,
)


def table(n_classes):
    return make_classification(
        2600,
        8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep={2: 0.5, 3: 1.6}[n_classes],
        flip_y=0.01,
        random_state=1,
    )


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    X, y = table(request.param)
    return X[:600], y[:600], X[600:], y[600:]


@pytest.fixture(scope="module")
def model(data):
    return LogisticRegression(max_iter=500).fit(data[0], data[1])


@pytest.fixture(scope="module")
def certified(model, data):
    return certify_selective(model, data[2], data[3], error=0.05, training_data=(data[0], data[1]))


def test_three_claims_share_delta(certified):
    certificate = certified.certificate
    assert [claim.quantity for claim in certificate.claims] == [
        "error rate",
        "error rate of answered rows",
        "rate of unanswered rows",
    ]
    assert all(claim.delta <= 0.05 / 3 for claim in certificate.claims)
    assert sum(claim.delta for claim in certificate.claims) == pytest.approx(0.05)
    assert certificate.answered_error_rate.value == 0.05


def test_answered_rows_are_those_that_reach_the_threshold(certified, model, data):
    certificate = certified.certificate
    sure = model.predict_proba(data[2]).max(axis=1) >= certificate.threshold
    assert certificate.answered_share == pytest.approx(sure.mean())
    assert np.mean(model.predict(data[2])[sure] != data[3][sure]) < 0.05
    assert 1 - certificate.unanswered_rate.value < sure.mean()
    answers = certified.predict_or_abstain(model, data[2])
    assert answers.dtype == object
    np.testing.assert_array_equal([answer is not None for answer in answers], sure)
    np.testing.assert_array_equal(answers[sure].astype(int), model.predict(data[2])[sure])


def test_sentences_tell_target_share_and_threshold(certified):
    certificate = certified.certificate
    share = f"{100 * certificate.answered_share:.1f} %"
    assert f"Answers {share} of rows (at least " in certificate.summary
    assert "wrong on at most 5 % of those it answers" in certificate.summary
    assert f"a score of at least {certificate.threshold:.6g} are answered" in certificate.statement
    assert "the error rate of answered rows is at most 0.05," in certificate.statement
    assert any("thresholds" in sentence for sentence in certificate.assumptions)


def test_it_verifies_with_and_without_the_classifier(certified, model, data):
    assert verify(certified, data[2], data[3], model=model).ok
    report = verify(certified, data[2], data[3])
    assert report.ok
    assert {"answers", "scores"} <= {step.name for step in report.trusted}
    assert not verify(certified, data[2], np.where(np.arange(2000) == 5, 1 - data[3] % 2, data[3])).ok


def test_it_survives_a_folder(certified, model, data, tmp_path):
    loaded = load_predictions(certified.save(tmp_path / "certified"))
    assert loaded.certificate == certified.certificate
    np.testing.assert_array_equal(loaded.scores.values, certified.scores.values)
    assert verify(tmp_path / "certified", data[2], data[3], model=model).ok
    np.testing.assert_array_equal(
        loaded.predict_or_abstain(model, data[2][:50]), certified.predict_or_abstain(model, data[2][:50])
    )


def test_a_changed_score_is_noticed(certified, model, data, tmp_path):
    values = certified.scores.values.copy()
    values[0] = 1.0 if values[0] < certified.certificate.threshold else 0.0
    forged = replace(certified, scores=replace(certified.scores, values=values))
    failed = {step.name for step in verify(forged, data[2], data[3], model=model).failures}
    assert {"answers stored", "scores", "evidence"} <= failed
    forged.save(tmp_path / "forged")
    with pytest.raises(DamagedFileError, match="score"):
        load_predictions(tmp_path / "forged")


def test_another_threshold_is_noticed(certified, data):
    claims = certified.certificate.claims
    moved = replace(claims[1].settings, thresholds=tuple(t - 1e-3 for t in claims[1].settings.thresholds))
    forged = replace(
        certified,
        certificate=replace(
            certified.certificate, claims=(claims[0], replace(claims[1], settings=moved), claims[2])
        ),
    )
    failed = {step.name for step in verify(forged, data[2], data[3]).failures}
    assert {"thresholds", "evidence"} <= failed


def test_a_claim_more_or_less_is_noticed(certified, data):
    for claims in (
        certified.certificate.claims[:2],
        (*certified.certificate.claims, certified.certificate.claims[2]),
    ):
        forged = replace(certified, certificate=replace(certified.certificate, claims=claims))
        failed = {step.name for step in verify(forged, data[2], data[3]).failures}
        assert "shares of delta" in failed


def test_without_other_rows_probabilities_have_fixed_thresholds(model, data):
    certified = certify_selective(model, data[2], data[3], error=0.05)
    assert certified.certificate.threshold is not None
    steps = {step.name: step for step in verify(certified, data[2], data[3], model=model).steps}
    assert steps["thresholds"].status == "ok"


def test_best_error_at_a_given_coverage(model, data):
    certified = certify_selective(model, data[2], data[3], coverage=0.6, training_data=data[0])
    certificate = certified.certificate
    assert certificate.answered_share == pytest.approx(0.6, abs=0.06)
    assert certificate.answered_error_rate.value < certificate.error_rate.value
    assert certificate.unanswered_rate.value < 0.5
    assert verify(certified, data[2], data[3], model=model).ok
    one = certify_selective(model, data[2], data[3], thresholds=[certificate.threshold])
    assert one.certificate.answered_error_rate.evidence == certificate.answered_error_rate.evidence


def test_a_margin_needs_other_rows_or_thresholds(data):
    machine = LinearSVC().fit(data[0], data[1])
    with pytest.raises(OptionError, match="training_data"):
        certify_selective(machine, data[2], data[3], error=0.1)
    certified = certify_selective(machine, data[2], data[3], error=0.1, training_data=data[0])
    assert certified.scores.quantity == "margin"
    assert verify(certified, data[2], data[3], model=machine).ok
    given = certify_selective(machine, data[2], data[3], error=0.1, thresholds=[0.5, 1.0, 0.5, 0.0])
    assert given.certificate.answered_error_rate.settings.thresholds == (1.0, 0.5, 0.0)


def test_scores_of_the_users_own(model, data):
    def doubt(model, X):
        return -(np.sum(model.predict_proba(X) ** 2, axis=1) ** -1.0)

    certified = certify_selective(
        model, data[2], data[3], error=0.05, scores=doubt, training_data=data[0], classes=model.classes_
    )
    assert certified.scores.quantity == "score 'doubt'"
    assert certified.certificate.threshold is not None
    assert verify(certified, data[2], data[3], model=model, scores=doubt).ok
    steps = {step.name: step for step in verify(certified, data[2], data[3], model=model).steps}
    assert steps["scores"].status == "trusted"
    with pytest.raises(OptionError, match="doubt"):
        certified.predict_or_abstain(model, data[2])
    assert (certified.predict_or_abstain(model, data[2], doubt) != None).any()  # noqa: E711


def test_nothing_certified_is_said_and_answers_no_row(model, data):
    certified = certify_selective(model, data[2][:40], data[3][:40], error=0.01)
    certificate = certified.certificate
    assert certificate.threshold is None
    assert certificate.answered_share == 0.0
    assert "no threshold of the score" in certificate.statement
    assert "Answers no rows" in certificate.summary
    assert set(certified.predict_or_abstain(model, data[2][:40])) == {None}
    assert verify(certified, data[2][:40], data[3][:40], model=model).ok


def test_classes_are_bounded_besides(model, data):
    certified = certify_selective(model, data[2], data[3], error=0.05, class_conditional=True)
    n_classes = len(model.classes_)
    assert len(certified.certificate.claims) == 3 + n_classes
    assert certified.certificate.claims[0].delta <= 0.05 / (3 + n_classes)
    assert verify(certified, data[2], data[3], model=model).ok


def test_groups_are_bounded_besides(model, data):
    groups = np.where(np.arange(len(data[3])) % 3, "a", "b")
    certified = certify_selective(model, data[2], data[3], error=0.05, groups=groups)
    certificate = certified.certificate
    assert certificate.threshold is not None
    assert certificate.answered_error_rate.delta == pytest.approx(0.05 / 6)
    assert len(certificate.by_group) == 2
    assert verify(certified, data[2], data[3], model=model, groups=groups).ok


class TestTies:
    def test_equal_scores_are_answered_together(self):
        X = np.repeat([[0.0], [1.0], [2.0]], 400, axis=0) + 0.0
        y = np.array(["a", "b"] * 600)
        y[400:] = "b"

        def steps(model, X):
            return X[:, 0]

        def says_b(X):
            return np.full(len(X), "b")

        with pytest.warns(DuplicateRowsWarning):
            certified = certify_selective(
                says_b, X, y, error=0.05, scores=steps, thresholds=[2.0, 1.0, 0.0], classes=["a", "b"]
            )
        assert certified.certificate.threshold == 1.0
        assert certified.certificate.answered_share == pytest.approx(2 / 3)


class TestBadInput:
    @pytest.mark.parametrize("error", [0, 1, 0.0, 1.0, -0.1, 1.5, float("nan"), float("inf")])
    def test_targets_that_nothing_can_show(self, model, data, error):
        with pytest.raises(DomainError, match="error"):
            certify_selective(model, data[2], data[3], error=error)

    @pytest.mark.parametrize("error", ["0.02", True, [0.02]])
    def test_targets_that_are_no_numbers(self, model, data, error):
        with pytest.raises(DtypeError, match="error"):
            certify_selective(model, data[2], data[3], error=error)

    @pytest.mark.parametrize("coverage", [0, -1, 1.01, float("nan")])
    def test_coverage_out_of_range(self, model, data, coverage):
        with pytest.raises(DomainError, match="coverage"):
            certify_selective(model, data[2], data[3], coverage=coverage, training_data=data[0])

    def test_what_is_asked_must_be_one_thing(self, model, data):
        rows = data[2], data[3]
        for asked in (
            {},
            {"error": 0.1, "coverage": 0.5},
            {"coverage": 0.5},
            {"coverage": 0.5, "thresholds": [0.5]},
            {"thresholds": [0.5, 0.6]},
        ):
            with pytest.raises(OptionError):
                certify_selective(model, *rows, **asked)

    @pytest.mark.parametrize(
        ("thresholds", "error"),
        [
            ([], ShapeError),
            ([[0.1]], ShapeError),
            ([0.1, np.nan], DomainError),
            ([-np.inf], DomainError),
            (["a"], DtypeError),
            (np.arange(257), DomainError),
        ],
    )
    def test_thresholds_that_are_none(self, model, data, thresholds, error):
        with pytest.raises(error):
            certify_selective(model, data[2], data[3], error=0.1, thresholds=thresholds)

    def test_a_classifier_without_scores(self, data):
        with pytest.raises(OptionError, match="scores"):
            certify_selective(lambda X: np.zeros(len(X), dtype=int), data[2], data[3], error=0.1)

    def test_scores_that_are_nan_of_another_shape_or_of_other_rows(self, model, data):
        def nan(model, X):
            return np.full(len(X), np.nan)

        def short(model, X):
            return np.ones(3)

        def ranks(model, X):
            return np.argsort(np.argsort(X[:, 0])) / len(X)

        for scores, error in ((nan, DomainError), (short, ShapeError), (ranks, UncertifiedError)):
            with pytest.raises(error):
                certify_selective(model, data[2], data[3], error=0.1, scores=scores, thresholds=[0.5])

    def test_rows_that_it_was_fitted_on(self, model, data):
        with pytest.raises(PriorLeakageError):
            certify_selective(model, data[0], data[1], error=0.1, training_data=(data[0], data[1]))

    def test_a_certificate_without_thresholds_answers_all(self, model, data):
        from pbgnet.certificates import certify

        with pytest.raises(OptionError, match="certify_selective"):
            certify(model, data[2], data[3]).predict_or_abstain(model, data[2])
