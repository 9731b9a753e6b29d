"""A fit that fails leaves an earlier one whole, and one that does not leaves nothing of it."""

import numpy as np
import pytest
from scipy import sparse

from pbgnet.estimators import PBGDClassifier, PBGNetClassifier, make_certified_pipeline
from pbgnet.exceptions import DuplicateRowsWarning

pd = pytest.importorskip("pandas")

MAKE = {
    "PBGNetClassifier": lambda: PBGNetClassifier((3,), max_epochs=1, random_state=0),
    "PBGDClassifier": lambda: PBGDClassifier(random_state=0),
    "CertifiedPipeline": lambda: make_certified_pipeline(
        PBGNetClassifier((3,), max_epochs=1, random_state=0)
    ),
}


def make_table(n=80, names=("left", "right"), seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, len(names))), columns=list(names))
    return frame, np.where(frame[names[0]] > 0, "yes", "no")


def state(estimator, frame):
    """Everything that a fit sets, and what follows from it."""
    return {
        "classes_": estimator.classes_.tolist(),
        "n_features_in_": estimator.n_features_in_,
        "feature_names_in_": estimator.feature_names_in_.tolist(),
        "certificate_": estimator.certificate_,
        "history_": estimator.history_,
        "row_fingerprints_": estimator.row_fingerprints_.tolist(),
        "prior_rows_": estimator.prior_rows_.tolist(),
        "attributes": {name: id(value) for name, value in vars(estimator).items()},
        "answers": estimator.predict_proba(frame).tolist(),
    }


@pytest.mark.parametrize("name", MAKE)
def test_a_refit_that_fails_leaves_the_old_fit_whole(name):
    frame, y = make_table()
    other, labels = make_table(90, ("a", "b", "c"), seed=1)
    estimator = MAKE[name]().fit(frame, y)
    before = state(estimator, frame)
    for X, target, options in (
        (other, ["one"] * 90, {}),
        (other, np.array([0, "one", 2] * 30, dtype=object), {}),
        (other, labels[:-1], {}),
        (sparse.csr_array(np.full((90, 3), np.inf)), labels, {}),
        (other, np.r_[labels[:-1], [None]], {}),
        (other, labels, {"prior_rows": [1, 1, 2]}),
        (other, labels, {"prior_rows": [1000]}),
        (other, labels, {"prior_rows": range(90)}),
        (other, labels, {"sample_weight": np.ones(90)}),
        (other.to_numpy()[:, :0], labels, {}),
        (None, labels, {}),
    ):
        with pytest.raises((ValueError, TypeError)):
            estimator.fit(X, target, **options)
        assert state(estimator, frame) == before
    assert estimator.verify(frame, y).ok


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("step", ["certify_prepared", "warn_of_the_fit"])
def test_a_refit_that_is_stopped_late_leaves_the_old_fit_whole(name, step, monkeypatch):
    class Interrupted(BaseException):
        """Like a key press."""

    def stop(*arguments, **options):
        raise Interrupted

    frame, y = make_table()
    other, labels = make_table(90, ("a", "b", "c"), seed=1)
    estimator = MAKE[name]().fit(frame, y)
    before = state(estimator, frame)
    with monkeypatch.context() as patch:
        patch.setattr(f"pbgnet.estimators.base.{step}", stop)
        with pytest.raises(Interrupted):
            estimator.fit(other, np.where(labels == "yes", 1, 0))
    assert state(estimator, frame) == before
    # A warning that someone made an error of comes at the very end.
    copies = pd.concat([other, other])
    with pytest.raises(DuplicateRowsWarning):
        estimator.fit(copies, np.r_[labels, labels])
    assert state(estimator, frame) == before


@pytest.mark.parametrize("name", MAKE)
def test_a_refit_that_succeeds_leaves_nothing_of_the_old_fit(name):
    frame, y = make_table()
    other, labels = make_table(90, ("a", "b", "c"), seed=1)
    fresh = MAKE[name]().fit(other.to_numpy(), np.where(labels == "yes", 1, 0))
    estimator = MAKE[name]().fit(frame, y).fit(other.to_numpy(), np.where(labels == "yes", 1, 0))
    assert set(vars(estimator)) == set(vars(fresh))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.classes_.tolist() == [0, 1]
    assert estimator.n_features_in_ == 3
    assert estimator.certificate_.fingerprints == fresh.certificate_.fingerprints
    assert estimator.certificate_.claims == fresh.certificate_.claims
