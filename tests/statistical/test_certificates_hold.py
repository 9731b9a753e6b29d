"""The guarantee itself: in a world whose risks are known, certificates fail at most as often as they say."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pbgnet.estimators import PBGDClassifier, PBGNetClassifier, make_certified_pipeline

pytestmark = pytest.mark.statistical

REPETITIONS = 60
CONFIDENCE = 0.8
N_FRESH = 20_000


def draw_world(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three features, a curved boundary, and a fifth of the labels turned at random."""
    x = rng.normal(size=(n, 3))
    clean = np.where(x[:, 0] + x[:, 1] ** 2 > 0.8, 1, 0)
    return x, np.where(rng.random(n) < 0.2, 1 - clean, clean)


@pytest.mark.parametrize(
    "classifier",
    [
        PBGNetClassifier((3,), algorithm="pbgnet", certificate="seeger", confidence=CONFIDENCE, max_epochs=2),
        PBGNetClassifier(
            (3,), algorithm="pbgnet_pre", certificate="seeger", confidence=CONFIDENCE, max_epochs=2
        ),
        PBGDClassifier(confidence=CONFIDENCE, n_restarts=1),
    ],
    ids=["pbgnet", "pbgnet_pre", "pbgd"],
)
def test_certificates_are_violated_at_most_delta_of_the_time(classifier):
    rng = np.random.default_rng(0)
    fresh_x, fresh_y = draw_world(N_FRESH, rng)
    violated_bound = violated_rate = optimistic = 0
    for repetition in range(REPETITIONS):
        x, y = draw_world(60, rng)
        fitted = classifier.set_params(random_state=repetition).fit(x, y)
        certificate = fitted.certificate_
        G = fitted.decision_function(fresh_x)
        sign = 2 * fresh_y - 1
        risk = np.mean((1 - sign * G) / 2)
        violated_bound += risk > certificate.linear_loss.value
        violated_rate += np.mean((G > 0) != (fresh_y == 1)) > certificate.error_rate.value
        optimistic += risk > certificate.network.empirical_risk
    # At most delta in expectation; the largest count that would still be no surprise at one in 1000.
    allowed = stats.binom.ppf(0.999, REPETITIONS, 1 - CONFIDENCE)
    assert violated_bound <= allowed
    assert violated_rate <= allowed
    # The test has power: the empirical risk, which is no bound, would fail it.
    assert optimistic > allowed


@pytest.mark.parametrize(
    "classifier",
    [DecisionTreeClassifier(), [DecisionTreeClassifier(max_depth=2), LogisticRegression(), GaussianNB()]],
    ids=["tree", "candidates"],
)
def test_a_wrapped_classifier_is_violated_at_most_delta_of_the_time(classifier):
    rng = np.random.default_rng(1)
    fresh_x, fresh_y = draw_world(N_FRESH, rng)
    violated = optimistic = 0
    repetitions = 3 * REPETITIONS
    for repetition in range(repetitions):
        x, y = draw_world(80, rng)
        fitted = make_certified_pipeline(classifier, confidence=CONFIDENCE, random_state=repetition).fit(x, y)
        rate = np.mean(fitted.predict(fresh_x) != fresh_y)
        violated += rate > fitted.certificate_.error_rate.value
        optimistic += rate > fitted.certificate_.inputs.empirical_error_rate
    allowed = stats.binom.ppf(0.999, repetitions, 1 - CONFIDENCE)
    assert violated <= allowed
    assert optimistic > allowed
