"""The sentences of version 1 say what is true at every depth."""

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.certificates.format.version1_words import PREDICTOR_WORDS
from pbgnet.networks import AggregatedNetwork, initial_weights


def certified(hidden):
    X = np.random.default_rng(0).normal(size=(30, 2))
    weights = initial_weights(2, hidden, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return certify_network(
        AggregatedNetwork(weights),
        X,
        (X[:, 0] > 0).astype(int),
        classes=(0, 1),
        prior=PriorRecord("given"),
        prior_rows=[],
        certified_rows=range(30),
    )


@pytest.mark.parametrize("hidden", [(), (4,), (4, 3), (3, 3, 2)])
def test_the_aggregate_of_several_hidden_layers_is_that_of_the_tree(hidden):
    certificate = certified(hidden).certificate
    (aggregate,) = [sentence for sentence in certificate.predictors if sentence.startswith("The aggregate")]
    if len(hidden) < 2:
        assert aggregate == PREDICTOR_WORDS["aggregate"]
    else:
        assert "tree network" in aggregate
        assert "not the average of the plain network" in aggregate
        assert "the average of the binary activated network" not in aggregate
