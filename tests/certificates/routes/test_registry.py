"""A candidate added as the recipe says works for every network; one added halfway says what is missing."""

import numpy as np
import pytest

from pbgnet import PBGNetClassifier, PBGNetMultilabelClassifier
from pbgnet.certificates.routes import CANDIDATES, ROUTES, deploys_prior
from pbgnet.certificates.routes.base import ERROR_RATE, HAMMING_LOSS, LINEAR_LOSS
from pbgnet.certificates.routes.registry import (
    LABEL_CANDIDATES,
    Offer,
    _with_hamming_loss,
    check_registered,
)
from pbgnet.choices import CERTIFICATES
from pbgnet.exceptions import DomainError

OFFERS = (Offer("prior's vote", "clopper-pearson", ERROR_RATE),)


@pytest.fixture
def recount(monkeypatch):
    """Register a second candidate that counts, as the recipe says."""
    monkeypatch.setitem(CANDIDATES, "recount", OFFERS)
    monkeypatch.setitem(LABEL_CANDIDATES, "recount", _with_hamming_loss(OFFERS))
    monkeypatch.setitem(CERTIFICATES, "recount", "the same count once more")
    for estimator in (PBGNetClassifier, PBGNetMultilabelClassifier):
        monkeypatch.setitem(estimator._parameter_constraints, "certificate", [str])
    for candidates in (CANDIDATES, LABEL_CANDIDATES):
        check_registered(ROUTES, candidates, CERTIFICATES)


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    return X, (X + 0.5 * rng.normal(size=X.shape) > 0).astype(int)


@pytest.mark.parametrize("certificate", ["recount", "held-out"])
def test_what_a_new_count_certifies_is_what_is_deployed(recount, certificate):
    X, Y = rows()
    model = PBGNetClassifier(
        algorithm="pbgnet_pre", certificate=certificate, hidden_layer_sizes=(3,), max_epochs=2, random_state=0
    ).fit(X, Y[:, 0])
    assert model.certificate_.error_rate.predictor == "prior's vote"
    assert model.verify(X, Y[:, 0]).ok


@pytest.mark.parametrize("certificate", ["recount", "held-out"])
def test_a_new_count_leaves_several_labels_alone(recount, certificate):
    X, Y = rows()
    model = PBGNetMultilabelClassifier(
        certificate=certificate, hidden_layer_sizes=(3,), max_epochs=2, random_state=0
    ).fit(X, Y)
    assert [claim.quantity for claim in model.certificate_.claims] == [HAMMING_LOSS, ERROR_RATE]
    assert model.verify(X, Y).ok


def test_only_counts_deploy_the_prior():
    assert [name for name in CANDIDATES if deploys_prior(name)] == ["held-out"]


@pytest.mark.parametrize(
    ("routes", "candidates", "choices", "message"),
    [
        (
            {},
            {"recount": OFFERS},
            (),
            "uses the route 'clopper-pearson', .* Add it to ROUTES",
        ),
        (
            ROUTES,
            {"recount": (Offer("aggregate", "clopper-pearson", LINEAR_LOSS),)},
            (),
            "'clopper-pearson' for the linear loss of the aggregate. That route does not bound it",
        ),
        (
            ROUTES,
            {"recount": OFFERS},
            ("auto", "recount", "again"),
            "the certificate 'again' .* add it to CANDIDATES",
        ),
    ],
)
def test_a_route_that_was_added_halfway_is_named(routes, candidates, choices, message):
    with pytest.raises(DomainError, match=message):
        check_registered(routes, candidates, choices)
