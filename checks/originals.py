"""Folders of all kinds, small and genuine, for the fuzzer to damage; a new kind is a function and a line."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pbgnet.certificates import (
    CertifiedModel,
    CertifiedPredictions,
    PriorRecord,
    certify,
    certify_by_disagreement,
    certify_network,
    save_model,
    save_predictions,
)
from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.preprocessing import TablePreprocessor

N = 60


@dataclass(frozen=True, eq=False)
class Original:
    """What was certified, and what `verify` is given to verify it."""

    certified: CertifiedModel | CertifiedPredictions
    data: tuple[Any, Any]
    given: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> Path:
        """Write its folder."""
        if isinstance(self.certified, CertifiedModel):
            return save_model(self.certified, folder)
        return save_predictions(self.certified, folder)


def numbers(n: int = N) -> tuple[Any, Any]:
    """Rows of two numbers, and labels that the first one tells for the most part."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    return rows, np.where(rows[:, 0] + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def mixed() -> tuple[Any, Any]:
    """The same with gaps and a column of colours."""
    rows, labels = numbers()
    table = np.empty((N, 3), dtype=object)
    table[:, :2] = rows
    table[::7, 1] = None
    table[:, 2] = np.random.default_rng(1).choice(["red", "green", "blue"], N)
    return table, labels


def a_network(
    data: tuple[Any, Any], hidden: tuple[int, ...], n_apart: int, prepared: bool = False, **options: Any
) -> Original:
    """Certify a network that reads its first feature."""
    rows, labels = data
    preprocessor = TablePreprocessor().fit(rows[:n_apart]) if prepared else None
    n_features = preprocessor.n_features_out_ if preprocessor else rows.shape[1]
    start = initial_weights(
        n_features, hidden, generator=torch.Generator().manual_seed(7), dtype=torch.float64
    )
    weights = [weight.clone() for weight in start]
    weights[0][:, 0] += 3.0
    prior = PriorRecord("pretrained", n_rows=n_apart) if n_apart else PriorRecord("random", seed=7)
    certified = certify_network(
        AggregatedNetwork(weights, start), rows, labels, classes=("no", "yes"), prior=prior,
        prior_rows=range(n_apart), certified_rows=range(n_apart, N), preprocessor=preprocessor, **options,
    )  # fmt: skip
    return Original(certified, data)


def plain_network() -> Original:
    """A network on numbers, its prior drawn from a seed."""
    return a_network(numbers(), (2,), 0, certificate="mixture", class_conditional=True)


def prepared_network() -> Original:
    """A network with a preprocessor and a learned prior."""
    return a_network(mixed(), (), 24, prepared=True, certificate="seeger", n_priors=3)


def network_with_margins() -> Original:
    """A network for which the margins are stored that something was chosen by."""
    return a_network(numbers(), (), 24, certificate="vote", prior_margins=np.linspace(-0.3, 0.9, 9))


def sampled_network() -> Original:
    """A network whose risk was sampled."""
    return a_network(numbers(), (2,), 0, aggregation="monte_carlo", n_samples=3, seed=1)


class Steps:
    """Two steps of the first number, and probabilities."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Rise from 0.1 to 0.9."""
        p = np.clip(0.5 + 0.4 * np.sign(np.asarray(X)[:, 0]), 0.1, 0.9)
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Answer with the likelier one."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def classifier() -> Original:
    """A classifier with a loss, and bounds for each class."""
    data = numbers()
    return Original(
        certify(Steps(), *data, class_conditional=True, loss="brier"), data, given={"model": Steps()}
    )


def grouped_classifier() -> Original:
    """A classifier whose errors are counted by groups that were given row by row."""
    data, groups = numbers(), ["a", "b", "b", None, "a"] * (N // 5)
    return Original(certify(Steps(), *data, groups=groups), data, given={"model": Steps(), "groups": groups})


def grouped_network() -> Original:
    """A network whose errors are counted by groups."""
    groups = np.arange(N) % 3
    made = a_network(numbers(), (), 24, certificate="held-out", groups=groups)
    return Original(made.certified, made.data, given={"groups": groups})


def disagreement() -> Original:
    """A classifier that was compared with a network."""
    vote = plain_network().certified
    assert isinstance(vote, CertifiedModel)
    rows = numbers(N + 40)[0][N:]
    shipped = certify_by_disagreement(vote, Steps(), rows)
    return Original(shipped, (rows, None), given={"model": Steps(), "reference": vote})


ORIGINALS: dict[str, Callable[[], Original]] = {
    "network": plain_network,
    "prepared network": prepared_network,
    "network with margins": network_with_margins,
    "sampled network": sampled_network,
    "classifier": classifier,
    "classifier by group": grouped_classifier,
    "network by group": grouped_network,
    "disagreement": disagreement,
}
