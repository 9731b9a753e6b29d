"""Losses in [0, 1] of any classifier: what they are, and what is none."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.certificates.conftest import Reads, make_data, trusted

from pbgnet.certificates import certify, verify
from pbgnet.certificates.classifier.losses import measure_losses
from pbgnet.estimators import PBGDClassifier, PBGNetClassifier
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    PBGNetError,
    ShapeError,
    UnknownNameError,
)


@pytest.fixture
def data():
    return make_data()


@pytest.fixture
def certified(data):
    return certify(Reads(), *data, loss="linear")


# What the losses are


def test_the_named_losses_are_what_they_are_said_to_be():
    p = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    for order in ((0, 1, 2), (2, 0, 1)):  # columns follow classes_, whatever its order
        y = np.array(order)[[1, 1, 2]]
        assert measure_losses("linear", Reads(order), p, y).values.tolist() == [0.75, 0.0, 1.0]
        brier = [(0.5**2 + 0.75**2 + 0.25**2) / 2, 0.0, 1.0]
        assert measure_losses("brier", Reads(order), p, y).values.tolist() == brier
    words = measure_losses(
        "linear", Reads(("yes", "no")), p[:, :2] * [[4 / 3], [1], [1]], ["no", "no", "yes"]
    )
    np.testing.assert_allclose(words.values, [2 / 3, 0.0, 0.0], atol=1e-15)


def test_named_losses_of_two_classes_are_those_of_the_textbooks(data):
    p, y = data
    F = p[:, 1] - p[:, 0]
    linear = measure_losses("linear", Reads(), p, y).values
    np.testing.assert_allclose(linear, (1 - (2 * y - 1) * F) / 2, atol=1e-15)
    mean = measure_losses("brier", Reads(), p, y).values.mean()
    assert mean == pytest.approx(brier_score_loss(y, p[:, 1]))


def test_probabilities_may_be_rounded_to_float32(data):
    p, y = make_data(classes=(0, 1, 2))

    class Rounded(Reads):
        def predict_proba(self, X):
            return X.astype(np.float32) * np.float32(1 + 1e-6)

    for name in ("linear", "brier"):
        losses = measure_losses(name, Rounded((0, 1, 2)), p, y)
        np.testing.assert_allclose(
            losses.values, measure_losses(name, Reads((0, 1, 2)), p, y).values, atol=1e-5
        )
        assert losses.values.min() >= 0
        assert losses.values.max() <= 1
    far = np.array([[1.00005, -0.00005]])
    assert measure_losses("linear", Reads(), far, [1]).values.tolist() == [1.0]
    assert measure_losses("brier", Reads(), far, [1]).values.tolist() == [1.0]


@pytest.mark.parametrize(
    "classifier", [PBGDClassifier(random_state=0), PBGNetClassifier((3,), max_epochs=1, random_state=0)]
)
def test_the_linear_loss_of_our_estimators_is_that_of_the_aggregate(classifier):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(260, 3))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=260) > 0, "yes", "no")
    fitted = classifier.fit(x[:160], y[:160])
    G = fitted.decision_function(x[160:])
    expected = (1 - np.where(y[160:] == "yes", 1, -1) * G) / 2
    for model in (fitted, fitted.certified_model_):
        certified = certify(model, x[160:], y[160:], loss="linear")
        np.testing.assert_allclose(certified.losses.values, expected, atol=1e-15)
        assert certified.certificate.linear_loss.evidence.empirical_risk == pytest.approx(expected.mean())
        assert trusted(verify(certified, x[160:], y[160:], model=model)) == {"certified rows"}


# What is refused


class Answers(Reads):
    """A classifier with whatever is given for probabilities."""

    def __init__(self, answer, classes=(0, 1)):
        super().__init__(classes)
        self.answer = answer

    def predict_proba(self, X):
        return self.answer(X)

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda X: X[:, 1], ShapeError, r"for each of the 2 classes in classes_, got shape \(120,\)"),
        (lambda X: X[:5], ShapeError, r"must return 120 rows .* got shape \(5, 2\)"),
        (lambda X: [X, X], ShapeError, r"got shape \(2, 120, 2\)"),
        (lambda X: [[0.5], [0.5, 0.5]], ShapeError, "regular array"),
        (lambda X: np.full(X.shape, "0.5"), DtypeError, "must be numbers, got <U3"),
        (lambda X: X * 2, DomainError, "add up to 1.*CalibratedClassifierCV"),
        (lambda X: np.tile([1.5, -0.5], (len(X), 1)), DomainError, "at least 0"),
        (lambda X: X * np.nan, DomainError, "does not return probabilities"),
        (lambda X: X * np.inf, DomainError, "does not return probabilities"),
        (lambda X: X * 1.001, DomainError, "does not return probabilities"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", ["linear", "brier"])
def test_what_is_no_probability_is_refused(data, name, answer, error, message):
    with pytest.raises(error, match=message):
        certify(Answers(answer), *data, loss=name)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (0.5, ShapeError, r"one number for each row, got shape \(\); do not average"),
        ([0.5] * 7, ShapeError, "for each of the 120 rows, got 7"),
        (np.full((120, 2), 0.5), ShapeError, r"got shape \(120, 2\); return a flat array, one number per"),
        (np.full((120, 1), 0.5), ShapeError, r"got shape \(120, 1\); return a flat array, one number per"),
        ([[0.5], [0.5, 0.5]], ShapeError, "regular array"),
        ([None] * 120, DtypeError, "must be numbers, got object"),
        (["0.5"] * 120, DtypeError, "must be numbers"),
        ([0.5 + 0j] * 120, DtypeError, "must be numbers"),
        ([0.5] * 118 + [np.nan, np.inf], DomainError, "NaN or infinite on 2 of 120 rows"),
        (
            [0.5] * 119 + [3.0],
            DomainError,
            r"ranges from 0.5 to 3.0. Divide by .* or clip the values at 1\.$",
        ),
        (
            [0.5] * 119 + [-0.1],
            DomainError,
            r"ranges from -0.1 to 0.5. Add a constant .*, or clip the values at 0\.$",
        ),
        (
            [3.0] * 119 + [-0.1],
            DomainError,
            r"clip the values at 0\. Divide by .* or clip the values at 1\.$",
        ),
        (np.ma.array([0.5] * 120, mask=np.arange(120) < 3), DomainError, "is masked in 3 of 120 places"),
        (torch.zeros(120, dtype=torch.bfloat16), DtypeError, "that NumPy can read. Convert it first"),
        (torch.zeros(120, device="meta"), DtypeError, "that NumPy can read. Convert it first"),
        ([torch.zeros((), requires_grad=True)] * 120, DtypeError, "that NumPy can read. Convert it first"),
    ],
)
def test_what_is_no_loss_is_refused(data, answer, error, message):
    def given_loss(model, X, y):
        return answer

    with pytest.raises(error, match=f"The loss 'given_loss' .*{message}"):
        certify(Reads(), *data, loss=given_loss)


def test_losses_without_a_proper_name_are_refused(data):
    def linear(model, X, y):
        return np.zeros(len(y))

    def größe(model, X, y):
        return np.zeros(len(y))

    class Callable:
        def __call__(self, model, X, y):
            return np.zeros(len(y))

    with pytest.raises(UnknownNameError, match=r"Unknown loss 'brire'; choose one of brier, linear.*'brier'"):
        certify(Reads(), *data, loss="brire")
    for loss, name in ((lambda *_: 0, "<lambda>"), (linear, "linear"), (größe, "größe"), (Callable(), "")):
        with pytest.raises(OptionError, match=f"cannot be '{name}'. Write the loss as a function with def"):
            certify(Reads(), *data, loss=loss)
    with pytest.raises(DtypeError, match=r"one of linear, brier or a function .* got list"):
        certify(Reads(), *data, loss=["linear"])


def test_classifiers_without_probabilities_are_refused(data):
    x, y = data
    nameless = Reads()
    del nameless.classes_
    nameless.predict, nameless.predict_proba = Reads().predict, Reads().predict_proba
    calibrate = (
        "no predict_proba: fit it with probability=True .* wrap it in scikit-learn's CalibratedClassifierCV"
    )
    for model, lacking in (
        (Reads().predict, "method has no predict_proba: pass the fitted classifier itself"),
        (SVC().fit(x, y), f"SVC has {calibrate}"),
        (SVC().fit(x, y).predict, f"method has {calibrate}"),
        (lambda X: Reads().predict(X), f"function has {calibrate}"),
        (nameless, "Reads has no classes_, which names the columns of predict_proba: set it"),
    ):
        told = f"The brier loss needs probabilities, but {lacking}, or pass a function loss"
        with pytest.raises(OptionError, match=told):
            certify(model, *make_data(seed=1), loss="brier")
    # A function may do without.
    assert certify(nameless.predict, x, y, loss=lambda_free).certificate.expected_loss.value < 1


def lambda_free(model, X, y):
    return (model(X) != y).astype(float)


def test_labels_without_a_probability_are_refused(data):
    x, y = data
    with pytest.raises(
        LabelError, match=r"y contains the label 2.*classes_ are 0, 1. Write the labels alike"
    ):
        certify(Reads(), x, np.where(np.arange(120) == 5, 2, y), loss="linear")


def test_pipelines_frames_and_columns_of_labels_work():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = pd.Series(np.where(frame["a"] + rng.normal(size=300) > 0, "yes", "no"))
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[:150], y[:150])
    rows, labels = frame[150:], y[150:]
    certified = certify(fitted, rows, labels, loss="linear", training_data=(frame[:150], y[:150]))
    p = fitted.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(certified.losses.values, np.where(labels == "yes", 1 - p, p), atol=1e-15)
    assert trusted(verify(certified, rows, labels, model=fitted)) == {"certified rows"}

    def late(model, X, y):
        return pd.Series(model.predict(X) != y).astype(float)

    own = certify(fitted, rows, labels, loss=late)
    assert own.certificate.expected_loss.value > own.certificate.error_rate.value
    assert trusted(verify(own, rows, labels, model=fitted, loss=late)) == {"certified rows"}
    assert issubclass(UnknownNameError, PBGNetError)
