"""Losses in [0, 1] of any classifier: bounded from their mean, stored to the last bit, verified again."""

import dataclasses
import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pbgnet.bounds import chernoff_bound, clopper_pearson_bound, split_delta
from pbgnet.certificates import Certificate, certify, load_predictions, verify
from pbgnet.certificates import prediction_storage as storage
from pbgnet.certificates.arguments import with_value
from pbgnet.certificates.checks import PREDICTION_CHECKS
from pbgnet.certificates.row_losses import RowLosses, measure_losses
from pbgnet.certificates.words import round_up
from pbgnet.estimators import PBGDClassifier, PBGNetClassifier
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    PBGNetError,
    ShapeError,
    UnknownNameError,
)

from .conftest import Reads, failed, gap, make_data, trusted

MP = MPContext()
MP.prec = 300


@pytest.fixture
def data():
    return make_data()


@pytest.fixture
def certified(data):
    return certify(Reads(), *data, loss="linear")


def exact_inverse(mean, n, delta):
    """The largest p with kl(mean || p) <= ln(1 / delta) / n, to 300 bits."""
    q, budget = MP.mpf(mean.numerator) / mean.denominator, -MP.log(MP.mpf(delta)) / n

    def kl(p):
        first = q * MP.log(q / p) if q else MP.mpf(0)
        return first + ((1 - q) * MP.log((1 - q) / (1 - p)) if q != 1 else 0)

    low, high = q, MP.mpf(1)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(middle) <= budget else (low, middle)
    return low


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


# The bound


@pytest.mark.parametrize("name", ["linear", "brier", gap])
@pytest.mark.parametrize(("class_conditional", "n_shares"), [(False, 2), (True, 4)])
@pytest.mark.parametrize("n_models", [1, 3])
def test_every_claim_has_its_share_of_delta(data, name, class_conditional, n_shares, n_models):
    x, y = data
    options = {"class_conditional": class_conditional, "n_models": n_models}
    certified = certify(Reads(), x, y, 0.9, loss=name, **options)
    certificate = certified.certificate
    share = split_delta(split_delta(0.1, n_models), n_shares)
    assert len(certificate.claims) == certificate.choices.n_shares == n_shares
    assert {claim.delta for claim in certificate.claims} == {share}
    wrong = int(np.sum(Reads().predict(x) != y))
    assert certificate.error_rate.value == clopper_pearson_bound(wrong, 120, share)
    claim, mean = certificate.expected_loss, float(np.mean(measure_losses(name, Reads(), x, y).values))
    assert claim.quantity == ("loss 'gap'" if name is gap else f"{name} loss")
    assert (claim.route, claim.predictor, claim.given_class) == ("chernoff", "classifier", None)
    assert claim.value == pytest.approx(float(chernoff_bound(mean, 120, share)), rel=1e-12)
    assert (certificate.linear_loss is None) == (name != "linear")
    told = f"; its expected {claim.quantity} is at most {round_up(claim.value)}, all together."
    assert certificate.statement.endswith(told)
    assert f"dividing delta by {n_shares}: " in " ".join(certificate.assumptions)
    assert "The loss was settled before these rows were looked at" in " ".join(certificate.assumptions)
    assert claim.quantity in certificate.predictors[-1]
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert verify(certified, x, y, model=Reads(), loss=name).ok


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)
    | st.lists(st.sampled_from([0.0, 5e-324, 0.1, 1.0]), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.025, 1e-9]),
)
def test_the_bound_is_at_or_above_that_of_the_exact_mean(values, delta):
    """The rounding of the mean is inside the bound."""
    losses = RowLosses("linear loss", np.array(values))
    claim, n = losses.claim(delta), len(values)
    exact = sum(map(Fraction, losses.values.tolist())) / n
    evidence = claim.evidence
    assert abs(exact - Fraction(evidence.empirical_risk)) <= Fraction(evidence.numerical_error)
    truth = exact_inverse(exact, n, delta)
    assert truth <= claim.value <= min(1, truth * (1 + 1e-9) + 1e-6)


def test_the_numerical_error_is_added_before_the_bound_is_searched():
    claim = RowLosses("linear loss", np.full(40, 0.2)).claim(0.05)
    coarse = dataclasses.replace(claim, evidence=dataclasses.replace(claim.evidence, numerical_error=0.01))
    assert with_value(coarse).value == pytest.approx(float(chernoff_bound(0.21, 40, 0.05)), rel=1e-12)
    assert with_value(coarse).value > claim.value + 0.01


def test_the_sum_is_exactly_rounded():
    """A plain sum of these loses the small ones, and its mean would be too small by more than is granted."""
    values = np.r_[1.0, np.full(10**5, 2.0**-54)]
    exact = sum(map(Fraction, values.tolist())) / values.size
    evidence = RowLosses("linear loss", values).evidence()
    assert evidence.empirical_risk == float(exact)
    assert evidence == RowLosses("linear loss", values[::-1]).evidence()
    assert evidence.numerical_error >= 2.0**-53 + 2.0**-54


def test_the_bound_grows_with_the_mean_and_with_confidence():
    bounds = [RowLosses("loss 'x'", np.full(50, mean)).claim(0.05).value for mean in np.linspace(0, 1, 21)]
    assert all(a < b for a, b in itertools.pairwise(bounds))
    assert bounds[-1] == 1.0
    steady = RowLosses("loss 'x'", np.full(50, 0.3))
    assert steady.claim(0.01).value > steady.claim(0.1).value > 0.3


@pytest.mark.parametrize("n_errors", [0, 1, 7, 30, 60])
def test_losses_of_0_and_1_are_bounded_no_better_than_their_count(n_errors):
    """Clopper and Pearson's limit is exact for a count, so no valid bound from it lies below."""
    values = np.arange(60) < n_errors
    claim = RowLosses("linear loss", values).claim(0.05)
    counted = float(clopper_pearson_bound(n_errors, 60, 0.05))
    assert counted * (1 - 1e-8) <= claim.value <= counted + 0.1  # both are rounded up, the count by more
    # All it may be is equal, where there are no errors or nothing else.
    assert (claim.value == pytest.approx(counted)) == (n_errors in (0, 60))


def test_a_loss_of_which_nothing_is_proved_is_said_to_be_so():
    x = np.tile([[1.0, 0.0]], (5, 1)) + np.zeros((5, 1))
    certificate = certify_quietly(Reads(), x, np.ones(5, dtype=int), loss="linear").certificate
    neither = "nothing is proved about the error rate of the classifier, nor about its expected linear loss."
    assert certificate.statement.endswith(f"rows, {neither}")


def test_only_bounds_are_said_to_hold_together(data):
    def ones(model, X, y):
        return np.ones(len(y))

    def statement(model, **options):
        return certify(model, *data, **options).certificate.statement

    plain, loss = statement(Reads(), loss=ones), "nothing is proved about its expected loss 'ones'."
    assert re.search(rf"the classifier is at most 0\.\d+; {loss}$", plain)
    each = statement(Reads(), loss=ones, class_conditional=True)
    assert re.search(rf"it is at most .* of class 0 and at most .* of class 1, all together; {loss}$", each)
    alone = statement(lambda X: 1 - data[1], loss=gap_of_none)
    told = r"nothing is proved about the error rate of the classifier; its expected loss 'gap_of_none' is"
    assert re.search(rf"{told} at most 0\.\d+\.$", alone)
    both = statement(Reads(), loss="brier")
    assert re.search(r"at most 0\.\d+; its expected brier loss is at most 0\.\d+, all together\.$", both)


def gap_of_none(model, X, y):
    return np.full(len(y), 0.25)


def certify_quietly(*arguments, **options):
    with pytest.warns(UserWarning, match="repeat another one"):
        return certify(*arguments, **options)


# What is stored


def test_losses_are_stored_to_the_last_bit(data, tmp_path):
    x, y = data
    odd = np.random.default_rng(0).random(120)
    odd[:4] = [5e-324, np.nextafter(1.0, 0.0), 1.0, -0.0]

    def uneven(model, X, y):
        return X[:, 2]

    certified = certify(Reads(), np.c_[x, odd], y, loss=uneven)
    folder = certified.save(tmp_path / "c")
    again = load_predictions(folder)
    assert again.losses.values.tobytes() == (odd + 0.0).tobytes()
    assert again.losses.quantity == "loss 'uneven'"
    assert again.certificate == certified.certificate
    assert again.fingerprint() == certified.certificate.fingerprints.predictions
    again.save(tmp_path / "d")
    for name in ("certificate.json", "predictions.json"):
        assert (tmp_path / "d" / name).read_bytes() == (folder / name).read_bytes()
    with pytest.raises(ValueError, match="read-only"):
        again.losses.values[0] = 0.0


def test_answers_without_losses_are_written_as_they_always_were(tmp_path):
    folder = certify(lambda X: X[:, 0] > 0, np.array([[1.0], [-1.0]]), [True, False]).save(tmp_path / "c")
    content = (
        '{"schema": "pbgnet-predictions", "version": 1, "classes": [false, true], "predictions": [1, 0], '
        '"reference": null, "exported": null}\n'
    )
    assert (folder / "predictions.json").read_text() == content
    certificate = json.loads((folder / "certificate.json").read_text())
    known = "fa1d835635d5658cbf9b2820c85a4629452020d7651fb335abad725b7e4e8067"
    assert certificate["fingerprints"]["predictions"] == known
    assert len(certificate["assumptions"]) == 3
    assert len(certificate["predictors"]) == 1


def test_more_rows_than_could_be_read_back_are_not_saved(certified, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "LARGEST_JSON", 2000)
    with pytest.raises(DomainError, match=r"The answers on 120 rows take more than .* certify fewer rows"):
        certified.save(tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [0.5] * 119}, "as many losses as answers"),
        ({"values": [0.5] * 119 + [1.0000000000000002]}, r"must lie in \[0, 1\]"),
        ({"values": [0.5] * 119 + [-1e-300]}, r"must lie in \[0, 1\]"),
        ({"values": [0.5] * 119 + [1]}, "must be a list of numbers"),
        ({"values": [0.5] * 119 + ["0.5"]}, "must be a list of numbers"),
        ({"values": [0.5] * 119 + [None]}, "must be a list of numbers"),
        ({"values": [[0.5]] * 120}, "must be a list of numbers"),
        ({"values": 0.5}, "must be a list of numbers"),
        ({"values": []}, "one number for each row"),
        ({"quantity": "error rate"}, "quantity must look like"),
        ({"quantity": "loss 'linear'"}, "quantity must look like"),
        ({"quantity": "loss 'a' is 0; trust me; 'b'"}, "quantity must look like"),
        ({"quantity": 3}, "quantity must be a text"),
        ({"quantity": "brier loss"}, "it holds brier loss, where linear loss is claimed"),
        ({"extra": 1}, "unknown key losses.extra"),
    ],
)
def test_damaged_losses_are_not_read(certified, data, tmp_path, change, message):
    folder = certified.save(tmp_path / "c")
    file = folder / "predictions.json"
    genuine = json.loads(file.read_text())
    file.write_text(json.dumps({**genuine, "losses": {**genuine["losses"], **change}}))
    with pytest.raises(DamagedFileError, match=rf"predictions\.json.*{message}"):
        load_predictions(folder)
    assert failed(verify(folder, *data)) == {"files", *PREDICTION_CHECKS}


def test_losses_that_are_missing_or_not_numbers_are_not_read(certified, data, tmp_path):
    folder = certified.save(tmp_path / "c")
    file = folder / "predictions.json"
    genuine = json.loads(file.read_text())
    without = {key: value for key, value in genuine.items() if key != "losses"}
    for content in (
        without,
        {**without, "version": 1},
        {**genuine, "version": 1},
        {**genuine, "version": 3},
        {**genuine, "losses": None},
        {**genuine, "losses": [0.5] * 120},
    ):
        file.write_text(json.dumps(content))
        with pytest.raises(DamagedFileError, match=r"predictions\.json"):
            load_predictions(folder)
    text = json.dumps(genuine)
    for number in ("NaN", "Infinity", "1e999"):
        file.write_text(text.replace(repr(genuine["losses"]["values"][0]), number, 1))
        with pytest.raises(DamagedFileError, match=r"predictions\.json"):
            load_predictions(folder)


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
        (lambda X: X * np.nan, DomainError, "no probabilities"),
        (lambda X: X * np.inf, DomainError, "no probabilities"),
        (lambda X: X * 1.001, DomainError, "no probabilities"),
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
        ([0.5] * 119 + [3.0], DomainError, r"goes from 0.5 to 3.0. Divide it by .* or cut it off at 1\.$"),
        (
            [0.5] * 119 + [-0.1],
            DomainError,
            r"goes from -0.1 to 0.5. Add a constant .*, or cut it off at 0\.$",
        ),
        ([3.0] * 119 + [-0.1], DomainError, r"cut it off at 0\. Divide it by .* or cut it off at 1\.$"),
        (np.ma.array([0.5] * 120, mask=np.arange(120) < 3), DomainError, "is masked in 3 of 120 places"),
        (torch.zeros(120, dtype=torch.bfloat16), DtypeError, "that NumPy can read; convert it first"),
        (torch.zeros(120, device="meta"), DtypeError, "that NumPy can read; convert it first"),
        ([torch.zeros((), requires_grad=True)] * 120, DtypeError, "that NumPy can read; convert it first"),
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
        with pytest.raises(OptionError, match=f"cannot be '{name}': write a function with def"):
            certify(Reads(), *data, loss=loss)
    with pytest.raises(DtypeError, match=r"one of linear, brier or a function .* got list"):
        certify(Reads(), *data, loss=["linear"])


def test_classifiers_without_probabilities_are_refused(data):
    x, y = data
    nameless = Reads()
    del nameless.classes_
    nameless.predict, nameless.predict_proba = Reads().predict, Reads().predict_proba
    calibrate = "no predict_proba: fit it so .* probability=True or by scikit-learn's CalibratedClassifierCV"
    for model, lacking in (
        (Reads().predict, "method has no predict_proba: pass the fitted classifier itself"),
        (SVC().fit(x, y), f"SVC has {calibrate}"),
        (SVC().fit(x, y).predict, f"method has {calibrate}"),
        (lambda X: Reads().predict(X), f"function has {calibrate}"),
        (nameless, "Reads has no classes_, which names the columns of predict_proba: set it"),
    ):
        told = f"The brier loss needs probabilities, and {lacking}, or pass a function loss"
        with pytest.raises(OptionError, match=told):
            certify(model, *make_data(seed=1), loss="brier")
    # A function may do without.
    assert certify(nameless.predict, x, y, loss=lambda_free).certificate.expected_loss.value < 1


def lambda_free(model, X, y):
    return (model(X) != y).astype(float)


def test_labels_without_a_probability_are_refused(data):
    x, y = data
    with pytest.raises(LabelError, match=r"y holds the label 2.*classes_ are 0, 1. Write the labels alike"):
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
