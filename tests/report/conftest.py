"""A certified model without training, and a history as training would leave it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from pbgnet.certificates import CertifiedModel, PriorRecord, certify_network
from pbgnet.networks import AggregatedNetwork, make_code
from pbgnet.report import render_report


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    model: CertifiedModel
    history: list[dict[str, Any]]
    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]

    def render(self) -> str:
        return render_report(self.model, self.X, self.y, history=self.history)


def make_subject(classes=("no", "yes"), scale=6.0, n=300, names=None, **terms) -> Subject:
    """Certify a random network on labels that it gets mostly right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.array(classes, dtype=object)[(X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)]
    weights = torch.tensor([[scale, 0.0, 0.0]], dtype=torch.float64)
    network = AggregatedNetwork([weights], [0.9 * weights], intercept=False)
    model = certify_network(
        network,
        X,
        y,
        classes=classes,
        prior=PriorRecord("pretrained", "trained on other rows", n_rows=n // 2),
        prior_rows=range(n // 2),
        certified_rows=range(n // 2, n),
        feature_names=names,
        **terms,
    )
    history = [
        *(
            {"phase": "prior", "epoch": k, "loss": 0.4 / k, "penalty": 3.0, "objective": 0.4 / k}
            for k in range(1, 21)
        ),
        *(
            {"phase": "bound", "epoch": k, "loss": 0.1, "penalty": 9.0 / k, "objective": 0.3 / k}
            for k in range(1, 9)
        ),
        {"phase": "bound, polish", "epoch": 1, "loss": 0.09, "penalty": 0.9, "objective": 0.0345},
        {"phase": "final", "epoch": 0, "loss": 0.089, "penalty": 0.8765, "objective": 0.03456},
    ]
    return Subject(model, history, X, y)


@pytest.fixture(scope="session")
def subject() -> Subject:
    return make_subject()


@pytest.fixture(scope="session")
def make() -> Any:
    return make_subject


def make_classes_subject(n_classes=4, n=600, noise=1.2, label=lambda k: f"kind {k}", **terms) -> Subject:
    """Certify a linear network with several outputs on rows near the code of their class."""
    rng, code = np.random.default_rng(1), make_code("auto", n_classes)
    places = np.arange(n) % n_classes
    X = code.matrix[places] + noise * rng.normal(size=(n, code.n_outputs))
    weights = 2.0 * torch.eye(code.n_outputs, dtype=torch.float64)
    labels = [label(k) for k in range(n_classes)]
    model = certify_network(
        AggregatedNetwork([weights], intercept=False),
        X,
        [labels[k] for k in places],
        classes=labels,
        prior=PriorRecord("pretrained", "trained on other rows", n_rows=n // 2),
        prior_rows=range(n // 2),
        certified_rows=range(n // 2, n),
        certificate="held-out",
        **terms,
    )
    return Subject(model, [], X, [labels[k] for k in places])


@pytest.fixture(scope="session")
def make_classes() -> Any:
    return make_classes_subject
