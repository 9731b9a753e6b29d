"""Small certified models on mixed tables, made in a moment, and a classifier that reads its answers."""

import dataclasses
import functools

import numpy as np
import pytest
import torch

from pbgnet.certificates import ROUTES, Foresight, PriorRecord, certify_network, make_claim
from pbgnet.certificates import verify as verify_until_failure
from pbgnet.certificates.routes import Measured
from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.preprocessing import TablePreprocessor

N = 240
N_LEARNED = 600


def make_table(n=N, seed=0):
    """A table of two numbers, a colour and gaps, with labels that depend on the first number."""
    rng = np.random.default_rng(seed)
    table = np.empty((n, 3), dtype=object)
    first = rng.normal(size=n)
    table[:, 0] = first
    table[:, 1] = np.where(rng.random(n) < 0.1, None, rng.normal(size=n))
    table[:, 2] = rng.choice(["red", "green", "blue"], size=n)
    labels = np.where(first + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    return table, labels


def make_network(n_features, hidden=(4,), seed=7, prior="random"):
    """A network that mostly reads its first feature, and the prior it departed from."""
    options = {"zero": {"initialisation": "zero"}}.get(
        prior, {"generator": torch.Generator().manual_seed(seed)}
    )
    start = initial_weights(n_features, hidden, dtype=torch.float64, **options)
    weights = [weight.clone() for weight in start]
    weights[0][:, 0] += 3.0
    if hidden:
        weights[-1] += 2.0
    return AggregatedNetwork(weights, start)


class Reads:
    """A classifier whose probabilities are the first columns of the rows."""

    def __init__(self, classes=(0, 1)):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.asarray(X)[:, : len(self.classes_)]

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def make_data(n=120, seed=0, classes=(0, 1)):
    """Probabilities, with labels drawn by them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(classes), 0.4), size=n)
    places = [rng.choice(len(classes), p=row) for row in p]
    return p, np.array(classes)[places]


def gap(model, X, y):
    """Distance of the label from the probability of 1, squared: the brier loss by another name."""
    return (model.predict_proba(X)[:, 1] - np.asarray(y)) ** 2


def claim_of(losses, delta, route="betting"):
    """The bound on the expectation of a loss, from its values."""
    measured = Measured(np.zeros(losses.values.size, dtype=bool), losses.values)
    settings = ROUTES[route].plan(Foresight(measured.n, delta))
    return make_claim("classifier", route, measured, settings, delta=delta, quantity=losses.quantity)


verify = functools.partial(verify_until_failure, every_step=True)
"""Verification whose steps are tested one by one: what fails first does not hide the others."""


def failed(report):
    """Names of the steps that a verification refused."""
    return {step.name for step in report.failures}


def trusted(report):
    """Names of the steps that a verification took on trust."""
    return {step.name for step in report.trusted}


@pytest.fixture
def table():
    return make_table()


def build_model(kind="inside", **options):
    """Build a model of a kind: "inside" (with preprocessor), "random" or "zero" (numbers only)."""
    table, labels = make_table()
    rows = np.random.default_rng(1).permutation(N)
    prior_rows, certified_rows = rows[: N // 2], rows[N // 2 :]
    if kind == "inside":
        preprocessor = TablePreprocessor("standard").fit(table[prior_rows])
        network = make_network(preprocessor.n_features_out_)
        prior = PriorRecord("pretrained", "trained", n_rows=N // 2)
    else:
        preprocessor, prior_rows, certified_rows = None, np.array([], dtype=np.int64), rows
        table = table[:, :1].astype(np.float64)
        network = make_network(1, prior=kind)
        prior = PriorRecord(kind, seed=7 if kind == "random" else None)
    options = {
        "classes": ("no", "yes"),
        "prior": prior,
        "prior_rows": prior_rows,
        "certified_rows": certified_rows,
        "preprocessor": preprocessor,
        **options,
    }
    return certify_network(network, table, labels, **options), table, labels


def make_learned(prior_scale=8.0, shift=0.0, hidden=(), **options):
    """A model whose prior reads the first feature, and whose posterior departs from it by `shift`."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_LEARNED, 2))
    y = np.where(x[:, 0] + 0.2 * rng.normal(size=N_LEARNED) > 0, "yes", "no")
    if hidden:
        prior = initial_weights(2, hidden, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        prior[0][:, 0] += prior_scale
        prior[-1] += 2.0
    else:
        prior = [torch.tensor([[prior_scale, 0.0, 0.0]], dtype=torch.float64)]
    weights = [weight.clone() for weight in prior]
    weights[0][:, 0] += shift
    options = {
        "classes": ("no", "yes"),
        "prior": PriorRecord("pretrained", n_rows=N_LEARNED // 2),
        "prior_rows": range(N_LEARNED // 2),
        "certified_rows": range(N_LEARNED // 2, N_LEARNED),
        **options,
    }
    return certify_network(AggregatedNetwork(weights, prior), x, y, **options), x, y


def forged(model, **changes):
    """The same model with a certificate that says something else."""
    return dataclasses.replace(model, certificate=dataclasses.replace(model.certificate, **changes))


@pytest.fixture
def build():
    return build_model


@pytest.fixture
def model(build):
    return build()[0]
