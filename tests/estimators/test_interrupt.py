"""A keyboard interrupt in the middle of a fit: a usable, certified classifier all the same."""

import pytest
import torch
from sklearn.datasets import load_breast_cancer

from pbgnet.estimators import PBGDClassifier, PBGNetClassifier
from pbgnet.exceptions import InterruptedFitWarning
from pbgnet.training import ALGORITHMS
from pbgnet.training.solvers.journal import History


@pytest.fixture
def interrupt_after(monkeypatch):
    """Raise a keyboard interrupt when the history gets its record of that number."""

    def arrange(count):
        append = History.append
        seen = []

        def append_or_interrupt(self, **record):
            append(self, **record)
            seen.append(record["phase"])
            if len(seen) == count:
                raise KeyboardInterrupt

        monkeypatch.setattr(History, "append", append_or_interrupt)
        return seen

    return arrange


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("records", [2, 23])
def test_the_best_weights_so_far_are_kept_and_usable(interrupt_after, algorithm, records):
    X, y = load_breast_cancer(return_X_y=True)
    seen = interrupt_after(records)
    classifier = PBGNetClassifier(algorithm=algorithm, hidden_layer_sizes=(4,), random_state=0)
    with pytest.warns(InterruptedFitWarning, match="interrupted"):
        classifier.fit(X, y)
    assert len([phase for phase in seen if phase != "final"]) == records
    assert classifier.predict(X).shape == y.shape
    assert all(torch.isfinite(weight).all() for weight in classifier.network_.weights)
    if ALGORITHMS[algorithm].certified:
        assert classifier.verify(X, y).ok
        assert 0 < classifier.certificate_.error_rate.value <= 1


def test_the_linear_classifier_too(interrupt_after):
    X, y = load_breast_cancer(return_X_y=True)
    interrupt_after(3)
    with pytest.warns(InterruptedFitWarning):
        classifier = PBGDClassifier(random_state=0).fit(X, y)
    assert classifier.verify(X, y).ok
    assert classifier.score(X, y) > 0.6


def test_a_second_interrupt_abandons_the_fit(interrupt_after, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    interrupt_after(2)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pbgnet.estimators.base.certify_prepared", interrupted)
    classifier = PBGNetClassifier(hidden_layer_sizes=(4,), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, y)
    assert not hasattr(classifier, "certified_model_")
