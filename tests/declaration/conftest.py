"""One certified classifier of each kind."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pbgnet import certify, certify_by_disagreement, certify_selective, make_certified_pipeline
from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.estimators import PBGNetMultilabelClassifier
from pbgnet.networks import AggregatedNetwork

HOSTILE = "a|b *c* _d_ `e` <img src=x> [f](http://g) www.h.example ![i](j) &amp; $k$ ~~l~~ \\| @m\n\n# n"
N = 240


def network_model(classes=("no", "yes"), names=("a", "b", "c"), **terms):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.array(classes, dtype=object)[(X[:, 0] + 0.2 * rng.normal(size=N) > 0).astype(int)]
    weights = torch.tensor([[6.0, 0.0, 0.0]], dtype=torch.float64)
    network = AggregatedNetwork([weights], [0.9 * weights], intercept=False)
    return certify_network(
        network,
        X,
        y,
        classes=classes,
        prior=PriorRecord("pretrained", "trained on other rows", n_rows=N // 2),
        prior_rows=range(N // 2),
        certified_rows=range(N // 2, N),
        feature_names=names,
        **terms,
    )


@pytest.fixture(scope="session")
def network():
    return network_model


@pytest.fixture(scope="session")
def kinds():
    """Certified classifiers by what they are."""
    rng = np.random.default_rng(1)
    X, three = rng.normal(size=(N, 2)), np.arange(N) % 3
    X[:, 0] = three + 0.1 * X[:, 0]

    def vote(rows):
        return np.clip(np.round(np.asarray(rows)[:, 0]), 0, 2).astype(int)

    model = network_model()
    fitted = make_certified_pipeline("logistic_regression", random_state=0).fit(X, three)
    Y = np.column_stack([X[:, 0] > 1, X[:, 1] > 0]).astype(int)
    several = PBGNetMultilabelClassifier(
        per_label=True, max_epochs=2, n_members=2, hidden_layer_sizes=(2,), random_state=0
    ).fit(X, Y)
    return {
        "network": model,
        "classes": certify(vote, X, three, classes=[0, 1, 2], class_conditional=True),
        "groups": certify(vote, X, (three + (np.arange(N) % 20 == 0)) % 3, groups=["a", "b"] * (N // 2)),
        "some rows": certify_selective(
            vote,
            X,
            np.where(np.abs(X[:, 1]) < 0.2, 0, three),
            error=0.1,
            thresholds=[1.0, 0.6, 0.0],
            scores=_sureness,
        ),
        "confusion": certify(vote, X, three, classes=[0, 1, 2], confusion=True),
        "loss": certify(
            SimpleNamespace(predict=vote, predict_proba=_shares, classes_=[0, 1, 2]), X, three, loss="brier"
        ),
        "fitted": fitted.certified_predictions_,
        "disagreement": certify_by_disagreement(model, model.predict, rng.normal(size=(N, 3))),
        "labels": several.certified_model_,
    }


def _sureness(_, rows):
    return np.abs(np.asarray(rows)[:, 1])


def _shares(rows):
    return np.full((len(rows), 3), 1 / 3)
