"""Classifiers over tables that are not held: the same certificates, a batch at a time."""

import json
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pbgnet.certificates import certify, certify_by_disagreement, certify_selective, verify
from pbgnet.estimators import PBGNetClassifier
from pbgnet.exceptions import LabelError, PriorLeakageError, ShapeError, UncertifiedError
from pbgnet.preprocessing import ColumnTable, read_columns
from pbgnet.sources import RowSource


class FakeSource(RowSource):
    """The rows of a frame, read in batches of odd sizes; tells how many batches were alive at once."""

    def __init__(self, frame, sizes=(7, 150, 1, 64)):
        super().__init__(frame.columns, len(frame))
        self.frame, self.sizes, self.handed_out, self.most_alive = frame, sizes, [], 0

    def __getitem__(self, name):
        return self.frame[name]

    def identity(self):
        return {}

    def frames(self):
        for part in self._parts(self.columns):
            self.handed_out.append(weakref.ref(part))
            self.most_alive = max(self.most_alive, sum(each() is not None for each in self.handed_out))
            yield part

    def _walk(self, names):
        for part in self._parts(names):
            yield ColumnTable(tuple(read_columns(part)))

    def _parts(self, names):
        start, k = 0, 0
        while start < len(self.frame):
            stop = start + self.sizes[k % len(self.sizes)]
            yield self.frame[list(names)].iloc[start:stop].copy()
            start, k = stop, k + 1


def content(certified):
    """What a certificate says, but for when."""
    told = json.loads(certified.certificate.to_json())
    del told["issued_at"], told["seal"]
    return told


def make_frame(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    y = np.array(["no", "yes"])[(frame["a"] + 0.5 * rng.normal(size=n) > 0).astype(int)]
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    """No matrix products: their last digits depend, on some processors, on how many rows there are."""
    frame, y = make_frame(seed=1)
    return make_pipeline(StandardScaler(), GaussianNB()).fit(frame, y)


@pytest.fixture(scope="module")
def network():
    frame, y = make_frame(400, seed=2)
    return PBGNetClassifier(random_state=0, max_epochs=3).fit(frame, y)


def strange(model, X, y):
    """A loss of the user's, of each row alone."""
    return np.minimum(np.abs(np.asarray(X)[:, 1]), 1.0) * (np.asarray(y) == "yes")


def rank(model, X, y=None):
    """What depends on the other rows of a batch."""
    return np.argsort(np.argsort(np.asarray(X)[:, 0])) / len(X)


def distance(model, X):
    """A score of each row alone."""
    return np.abs(np.asarray(X)[:, 0])


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "brier"}, {"loss": strange}, {"class_conditional": True}, {"groups": "a"}],
    ids=["plain", "brier", "own loss", "classes", "groups"],
)
def test_a_source_gives_the_certificate_of_its_frame(fitted, options):
    frame, y = make_frame()
    frame["a"] = frame["a"].round()
    source = FakeSource(frame)
    held, streamed = certify(fitted, frame, y, **options), certify(fitted, source, y, **options)
    assert content(streamed) == content(held)
    assert source.most_alive <= 2
    assert verify(streamed, source, y, model=fitted, **{k: v for k, v in options.items() if k == "loss"}).ok
    changed = frame.copy()
    changed.iloc[-1, 2] += 1
    assert not verify(streamed, FakeSource(changed), y, model=fitted).ok


def test_the_classifier_is_walked_through_once(fitted):
    frame, y = make_frame()
    source = FakeSource(frame)
    certify(fitted, source, y)
    assert len(source.handed_out) == len(list(source.batches()))


@pytest.mark.parametrize("scores", [{}, {"scores": distance}], ids=["own", "given"])
def test_answering_only_when_sure(fitted, scores):
    frame, y = make_frame()
    options = {**scores, "training_data": make_frame(300, seed=5)[0]} if scores else {}
    held, streamed = (
        certify_selective(fitted, table, y, error=0.3, **options) for table in (frame, FakeSource(frame))
    )
    assert content(streamed) == content(held)
    assert verify(streamed, FakeSource(frame), y, model=fitted, **scores).ok
    answers = streamed.predict_or_abstain(fitted, FakeSource(frame), **scores)
    assert answers.tolist() == held.predict_or_abstain(fitted, frame, **scores).tolist()


def test_a_disagreement(network, fitted):
    frame, _ = make_frame(seed=7)
    held, streamed = (certify_by_disagreement(network, fitted, table) for table in (frame, FakeSource(frame)))
    assert content(streamed) == content(held)
    assert 0 < streamed.certificate.inputs.n_errors < len(frame)
    assert verify(streamed, FakeSource(frame), model=fitted, reference=network.certified_model_).ok


def test_several_labels():
    frame, _ = make_frame()
    labels = pd.DataFrame({"up": (frame["a"] > 0).astype(int), "down": (frame["b"] < 0).astype(int)})
    forest = RandomForestClassifier(5, random_state=0).fit(frame.iloc[:100].to_numpy(), labels.iloc[:100])
    rows, truth = frame.iloc[100:], labels.iloc[100:]
    held = certify(forest, rows.to_numpy(), truth.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns of names where there were none
        streamed = certify(forest, FakeSource(rows), truth.to_numpy())
        assert verify(streamed, FakeSource(rows), truth.to_numpy(), model=forest).ok
    assert streamed.certificate.claims == held.certificate.claims


def test_functions_get_frames():
    frame, y = make_frame()

    def rule(X):
        assert isinstance(X, pd.DataFrame)
        return np.where(X["a"] > 0, "yes", "no")

    assert content(certify(rule, FakeSource(frame), y)) == content(certify(rule, frame, y))


def test_rows_that_were_seen_are_refused(network, fitted):
    frame, y = make_frame(seed=1)
    with pytest.raises(PriorLeakageError):
        certify(fitted, FakeSource(frame), y, training_data=frame.iloc[-3:])
    seen = make_frame(400, seed=2)[0].iloc[-40:]
    with pytest.raises(PriorLeakageError):
        certify(network, FakeSource(pd.concat([frame, seen])), np.append(y, ["no"] * 40))
    behind = make_pipeline(StandardScaler().set_output(transform="pandas"), PBGNetClassifier(max_epochs=2))
    behind.fit(*make_frame(400, seed=2))
    with pytest.raises(PriorLeakageError):
        certify(behind, FakeSource(pd.concat([frame, seen])), np.append(y, ["no"] * 40))


def test_faults_in_a_late_batch_are_told(fitted):
    frame, y = make_frame()
    with pytest.raises(UncertifiedError, match="every other row"):
        certify(fitted, FakeSource(frame), y, loss=rank)
    with pytest.raises(UncertifiedError, match="every other row"):
        certify_selective(fitted, FakeSource(frame), y, error=0.3, scores=rank, thresholds=[0.5])
    calls = iter(range(100))
    with pytest.raises(ShapeError, match="one label for each of the 150 rows"):
        certify(lambda X: y[: len(X) - next(calls)], FakeSource(frame), y)
    with pytest.raises(LabelError, match="'maybe'"):
        certify(lambda X: ["maybe" if len(X) == 64 else "no"] * len(X), FakeSource(frame), y)
