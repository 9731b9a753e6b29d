"""What others' code may do to a certificate: classifiers and losses that change rows, or look at others."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.certificates.conftest import Reads, failed, verify

from pbgnet.certificates import certify, certify_by_disagreement, describe_data, save_model
from pbgnet.certificates.classifier.losses import NAMED_LOSSES
from pbgnet.exceptions import OptionError, UncertifiedError

IN_PLACE = "changed the rows or their labels in place.* Make it work on a copy"


def make_data(n=61):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return np.c_[1 - p, p], (rng.random(n) < p).astype(int)


def far(model, X, y):
    """Distance from the label."""
    return np.abs(model.predict_proba(X)[:, 1] - y)


@pytest.fixture
def data():
    return make_data()


# Changes in place


def change_array(X):
    X[0] = X[0, ::-1].copy()


def change_frame(X):
    X.iloc[0, 0] = X.iloc[0, 0] / 2


def change_names(X):
    X.columns = ["c", "d"]


def change_list(X):
    X[0] = X[0][::-1]


def change_sparse(X):
    X.data[0] /= 2


def frame(x):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(x, columns=["a", "b"])


TABLES = {
    "array": (np.array, change_array),
    "frame": (frame, change_frame),
    "names": (frame, change_names),
    "list": (np.ndarray.tolist, change_list),
    "sparse": (sparse.csr_matrix, change_sparse),
}


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


class Meddles(Reads):
    """Answers as `Reads`, and where it is told to changes the rows."""

    def __init__(self, change=None, where=()):
        super().__init__()
        self.change, self.where = change, where

    def meddle(self, X, place):
        if place in self.where:
            self.change(X)

    def predict_proba(self, X):
        p = dense(X).copy()
        self.meddle(X, "predict_proba")
        return p

    def predict(self, X):
        labels = np.argmax(dense(X), axis=1)
        self.meddle(X, "predict")
        return labels


def meddling(model, X, y):
    losses = np.abs(dense(X)[:, 1] - y)
    model.meddle(X, "loss")
    return losses


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    ("where", "loss", "step"),
    [
        ("predict", None, "answers"),
        ("predict_proba", "brier", "losses"),
        ("loss", meddling, "losses"),
    ],
)
def test_rows_that_are_changed_in_place_are_noticed(data, kind, where, loss, step):
    table, change = TABLES[kind]
    x, y = data
    with pytest.raises(UncertifiedError, match=IN_PLACE):
        certify(Meddles(change, {where}), table(x), y, loss=loss)
    certified = certify(Meddles(), table(x), y, loss=loss)
    assert certified.certificate.fingerprints.data == describe_data(table(x), y).data
    assert verify(certified, table(x), y, model=Meddles(), loss=loss).ok
    report = verify(certified, table(x), y, model=Meddles(change, {where}), loss=loss)
    (found,) = [each for each in report.steps if each.name == step]
    assert found.status == "failed"
    assert "changed the rows or their labels in place" in found.detail
    # What is said of the data is said of them as they were given.
    assert not {name for name in failed(report) if name.startswith("data")}


@pytest.mark.parametrize("where", ["predict", "loss"])
def test_other_data_that_the_code_makes_into_the_certified_ones_do_not_verify(data, where):
    """The loss puts the certified rows where others were: the fingerprint must be that of the others."""
    x, y = data

    def restore(X):
        X[:] = x

    certified = certify(Meddles(), x, y, loss=meddling)
    other = x.copy()
    other[3] = [0.5, 0.5]
    report = verify(certified, other, y, model=Meddles(restore, {where}), loss=meddling)
    assert {"data: features", "answers" if where == "predict" else "losses"} <= failed(report)


def test_labels_that_are_changed_in_place_are_noticed(data):
    x, y = data

    def flips(X):
        y[0] = 1 - y[0]
        return np.zeros(len(X), dtype=int)

    with pytest.raises(UncertifiedError, match=IN_PLACE):
        certify(flips, x, y)


def test_the_data_are_described_before_anything_else_happens(data):
    """Also before the loss is computed the second time."""
    x, y = data
    before, calls = describe_data(x, y), []

    def later(model, X, y):
        calls.append(len(y))
        losses = far(model, X, y)
        if len(calls) == 2:
            x[1] = [0.5, 0.5]
        return losses

    certificate = certify(Reads(), x, y, loss=later).certificate
    assert calls == [61, 31]
    assert certificate.fingerprints.data == before.data != describe_data(x, y).data


@pytest.mark.parametrize("labels", [lambda y: y, lambda y: y > 0, lambda y: y.tolist()])
def test_a_loss_has_labels_of_its_own(data, labels):
    x, y = data

    def relabels(model, X, y):
        loss = np.abs(X[:, 1] - y)
        y[:] = 0
        return loss

    classifier = Reads(np.unique(labels(y)))
    certified = certify(classifier, x, labels(y), loss=relabels)
    assert certified.certificate.fingerprints.labels == describe_data(x, labels(make_data()[1])).labels
    assert verify(certified, x, labels(y), model=classifier, loss=relabels).ok


def test_a_pipeline_that_scales_in_place_is_refused(data):
    x, y = data
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    assert certify(fitted, x, y).certificate.inputs.n == 61
    fitted.set_params(standardscaler__copy=False)
    with pytest.raises(UncertifiedError, match=IN_PLACE):
        certify(fitted, x, y)


def test_a_disagreement_notices_changed_rows_too(build):
    vote, fresh = build("zero")[0], np.random.default_rng(9).normal(size=(50, 1))

    def names(X):
        return np.where(X[:, 0] > 0, "yes", "no")

    def halves(X):
        X /= 2
        return names(X)

    shipped = certify_by_disagreement(vote, names, fresh.copy())
    assert shipped.certificate.fingerprints.features == describe_data(fresh, None).features
    assert failed(verify(shipped, fresh.copy(), model=halves)) == {"answers"}
    with pytest.raises(UncertifiedError, match=IN_PLACE):
        certify_by_disagreement(vote, halves, fresh.copy())


# Losses that look at other rows


def test_losses_that_look_at_other_rows_are_refused(data):
    x, y = data

    def scaled(model, X, y):
        return far(model, X, y) / len(y)

    def centred(model, X, y):
        p = model.predict_proba(X)[:, 1]
        return np.clip(np.abs(p - y) - p.mean() / 10, 0, 1)

    def previous(model, X, y):
        return np.roll(far(model, X, y), 1)

    def chance(model, X, y):
        return np.clip(far(model, X, y) + 1e-3 * np.random.default_rng().random(len(y)), 0, 1)

    def cancels(model, X, y):
        shift = np.where(np.arange(len(y)) % 2, 0.01, -0.01) * (np.arange(len(y)) < 30) * (len(y) < 61)
        return 0.5 + shift

    for loss in (scaled, centred, previous, chance, cancels):
        told = (
            rf"With every other row only, the loss '{loss.__name__}' of a row changes by .*not on other rows"
        )
        with pytest.raises(UncertifiedError, match=told):
            certify(Reads(), x, y, loss=loss)

    class Batch(Reads):
        def predict_proba(self, X):
            p = super().predict_proba(X) ** (1 + np.asarray(X)[:, :1].mean())
            return p / p.sum(axis=1, keepdims=True)

    for name in NAMED_LOSSES:
        with pytest.raises(UncertifiedError, match=f"the {name} loss of a row changes"):
            certify(Batch(), x, y, loss=name)


@pytest.mark.parametrize(("by", "refused"), [(5e-6, False), (2e-5, True)])
def test_losses_of_other_batches_may_be_rounded_otherwise(data, by, refused):
    def rounded(model, X, y):
        return np.clip(far(model, X, y) + by * (len(y) < 61), 0, 1)

    if refused:
        with pytest.raises(UncertifiedError, match="less precise than float32"):
            certify(Reads(), *data, loss=rounded)
    else:
        assert certify(Reads(), *data, loss=rounded).losses.values.size == 61


def test_losses_that_cannot_be_had_of_some_rows_are_refused(data):
    x, y = data
    known = far(Reads(), x, y)

    def stored(model, X, y):
        return known

    def captured(model, X, labels):
        return (model.predict_proba(X)[:, 1] - y) ** 2

    with pytest.raises(UncertifiedError, match=r"cannot be computed.*not on other rows.*the 31 rows, got 61"):
        certify(Reads(), x, y, loss=stored)
    with pytest.raises(ValueError, match="broadcast") as caught:  # as it was raised, with a note
        certify(Reads(), x, y, loss=captured)
    assert "With every other row only, the loss 'captured' cannot be computed" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "table",
    [np.array, frame, np.ndarray.tolist, sparse.csc_matrix, sparse.coo_array, torch.tensor],
)
def test_every_second_row_is_of_the_same_kind(data, table):
    x, y = data
    asked = []

    class Any(Meddles):
        def predict_proba(self, X):
            asked.append(X)
            return dense(X)

    certified = certify(Any(), table(x), y, loss="linear")
    whole, half = asked
    np.testing.assert_array_equal(dense(half), x[::2])
    assert type(half) is type(whole) or sparse.issparse(half)
    assert verify(certified, table(x), y, model=Any()).ok


def test_rows_of_mixed_lists_stay_as_they_are():
    rows = [[0.25, "red"], [0.5, "blue"], [1.0, "red"]]

    def price(model, X, y):
        return [row[0] for row in X]

    certified = certify(lambda X: [row[1] == "red" for row in X], rows, [True, False, True], loss=price)
    assert certified.losses.values.tolist() == [0.25, 0.5, 1.0]


def test_what_is_assumed_of_a_loss_is_stated(data):
    sentence = "The loss of a row depends only on that row, its label and the classifier, not on other rows."
    assert sentence in certify(Reads(), *data, loss="brier").certificate.assumptions
    assert sentence not in certify(Reads(), *data).certificate.assumptions


# What verify is given


def test_a_network_needs_neither_model_nor_loss(build, tmp_path):
    model, X, y = build("zero")
    folder = save_model(model, tmp_path / "m")
    for certified in (model, folder):
        for options in ({"model": model}, {"loss": "linear"}, {"loss": far}, {"model": model, "loss": far}):
            with pytest.raises(OptionError, match=r"^(model|loss) is for a classifier that is not stored"):
                verify(certified, X, y, **options)
        assert verify(certified, X, y).ok
