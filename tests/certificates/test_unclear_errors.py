"""Odd arguments end in a typed error that says what to do, never in one of a library below."""

import warnings

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify, certify_network, draw_prior_rows, verify
from pbgnet.estimators import PBGDClassifier
from pbgnet.exceptions import DomainError, DtypeError, MajorityNotBeatenWarning, OptionError, ShapeError

X = np.random.default_rng(0).normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)


def sign(rows):
    return (np.asarray(rows)[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return PBGDClassifier(random_state=0).fit(X, y)


@pytest.mark.parametrize("confidence", ["abc", None, True, [0.9]])
def test_a_confidence_is_a_number(confidence):
    with pytest.raises(DtypeError, match=r"confidence must be a number such as 0\.95"):
        certify(sign, X, y, confidence=confidence)


@pytest.mark.parametrize("confidence", [10**400, 0, 1, float("nan"), -0.5])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(DomainError, match="confidence must be between 0 and 1"):
        certify(sign, X, y, confidence=confidence)


def test_a_table_is_needed(fitted):
    with pytest.raises(ShapeError, match="Expected a table of rows and columns, got NoneType"):
        certify(sign, None, y)
    network = fitted.network_
    options = {"classes": (0, 1), "prior": PriorRecord("zero"), "prior_rows": [], "certified_rows": [0]}
    with pytest.raises(ShapeError, match="Expected a table of rows and columns"):
        certify_network(network, None, y, **options)
    with pytest.raises(DtypeError, match="Only an AggregatedNetwork"):
        certify_network(None, X, y, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda t: t.requires_grad_(), r"pass .\.detach\(\)"), (lambda t: t.bfloat16(), r"pass .\.float\(\)")],
)
def test_tensors_that_numpy_cannot_read(fitted, change, message):
    table, labels = change(torch.tensor(X)), change(torch.tensor(y).double())
    for call in (
        lambda: certify(sign, table, y),
        lambda: certify(sign, X, labels),
        lambda: PBGDClassifier().fit(table, y),
        lambda: PBGDClassifier().fit(X, labels),
        lambda: fitted.predict(table),
    ):
        with pytest.raises(DtypeError, match=message):
            call()


def test_columns_of_one_name_are_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ShapeError, match="Two columns are named 'a'"):
        PBGDClassifier().fit(pd.DataFrame(X, columns=["a", "a"]), y)


@pytest.mark.parametrize(
    ("n", "fraction", "seed", "message"),
    [
        (10, 2.5, 0, "fraction must be between 0 and 1"),
        (10, 0.0, 0, "fraction must be positive"),
        (10, float("nan"), 0, "fraction must be positive"),
        (0, 0.5, 0, "At least 2 rows are needed"),
        (1, 0.5, 0, "At least 2 rows are needed"),
        (10, 0.5, -1, "seed must be a whole number of at least 0"),
    ],
)
def test_a_draw_of_rows_is_possible(n, fraction, seed, message):
    with pytest.raises(DomainError, match=message):
        draw_prior_rows(np.arange(n)[:, None], np.arange(n), fraction, seed)


def test_a_network_has_no_reference(fitted):
    model = fitted.certified_model_
    for given in ({"reference": model}, {"reference_data": (X, y)}):
        with pytest.raises(OptionError, match="is for a classifier that is not stored"):
            verify(model, X, y, **given)


def test_rows_that_are_read_only_give_no_warning(fitted):
    rows = X.copy()
    rows.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MajorityNotBeatenWarning)  # its rows are few
        PBGDClassifier(random_state=0).fit(rows, y)
        fitted.predict(rows)
        assert verify(fitted.certified_model_, rows, y).ok
        certify(sign, rows, y)
