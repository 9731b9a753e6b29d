"""A classifier certified on a thousand rows, twenty of which it gets wrong, and streams of rows."""

import numpy as np
import pytest

from pbgnet import certify

N_CERTIFIED, N_ERRORS = 1000, 20


def certified(**options):
    """Certify answers that are wrong on every fiftieth row; classes 'a' and 'b' in turn."""
    truth = np.where(np.arange(N_CERTIFIED) % 2, "b", "a")
    answers = truth.copy()
    wrong = np.arange(0, N_CERTIFIED, N_CERTIFIED // N_ERRORS) + np.arange(N_ERRORS) % 2
    answers[wrong] = np.where(truth[wrong] == "a", "b", "a")
    rows = np.arange(N_CERTIFIED)[:, None]
    return certify(lambda X: answers[X[:, 0].astype(int)], rows, truth, classes=["a", "b"], **options)


@pytest.fixture(scope="session")
def predictions():
    return certified()


@pytest.fixture(scope="session")
def by_class():
    return certified(class_conditional=True)


@pytest.fixture
def stream():
    """Labels and answers of rows, wrong at a rate: ``stream(600, 0.02)``."""
    rng = np.random.default_rng(0)

    def draw(n_rows: int, rate: float, share: float = 0.5):
        truth = np.where(rng.random(n_rows) < share, "a", "b")
        wrong = rng.random(n_rows) < rate
        return truth, np.where(wrong, np.where(truth == "a", "b", "a"), truth)

    return draw
