"""What surrounds a fit."""

import numpy as np
import pytest

from pbgnet import PBGNetClassifier
from pbgnet.estimators import around_fit


class ToldError(Exception):
    """What ends a fit in these tests, once workers would compare what they are about to do."""


def facts_of(monkeypatch, **parameters) -> dict[str, str]:
    class Together:
        size = 2

        def check_alike(self, facts):
            raise ToldError(facts)

    monkeypatch.setattr(around_fit, "current_workers", Together)
    x = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ToldError) as told:
        PBGNetClassifier(random_state=0, **parameters).fit(x, x[:, 0] > 0)
    return told.value.args[0]


@pytest.mark.parametrize(
    "other", [{"n_members": 3}, {"max_epochs": 2}, {"confidence": 0.9}, {"hidden_layer_sizes": (3,)}]
)
def test_workers_compare_all_settings(other, monkeypatch):
    mine, theirs = facts_of(monkeypatch), facts_of(monkeypatch, **other)
    assert [name for name in mine if mine[name] != theirs[name]] == ["the settings"]
