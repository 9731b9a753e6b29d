"""A classifier certified on a thousand rows, twenty of which it gets wrong, and streams of rows."""

import numpy as np
import pytest

from pbgnet import certify, certify_selective

N_CERTIFIED, N_ERRORS = 1000, 20


def certified(issue=certify, **options):
    """Certify answers that are wrong on every fiftieth row; classes 'a' and 'b' in turn."""
    truth = np.where(np.arange(N_CERTIFIED) % 2, "b", "a")
    answers = truth.copy()
    wrong = np.arange(0, N_CERTIFIED, N_CERTIFIED // N_ERRORS) + np.arange(N_ERRORS) % 2
    answers[wrong] = np.where(truth[wrong] == "a", "b", "a")
    rows = np.arange(N_CERTIFIED)[:, None]
    return issue(lambda X: answers[X[:, 0].astype(int)], rows, truth, classes=["a", "b"], **options)


@pytest.fixture(scope="session")
def predictions():
    return certified()


@pytest.fixture(scope="session")
def by_class():
    return certified(class_conditional=True)


@pytest.fixture(scope="session")
def by_group():
    return certified(groups=["north"] * (N_CERTIFIED // 2) + ["south"] * (N_CERTIFIED // 2))


@pytest.fixture(scope="session")
def of_sure_rows():
    """The same answers, of which those to the last rows are sure."""
    return certified(certify_selective, error=0.05, thresholds=[N_CERTIFIED / 4], scores=_row_number)


def _row_number(_, rows):
    return rows[:, 0]


@pytest.fixture
def stream():
    """Labels and answers of rows, wrong at a rate: ``stream(600, 0.02)``."""
    rng = np.random.default_rng(0)

    def draw(n_rows: int, rate: float, share: float = 0.5):
        truth = np.where(rng.random(n_rows) < share, "a", "b")
        wrong = rng.random(n_rows) < rate
        return truth, np.where(wrong, np.where(truth == "a", "b", "a"), truth)

    return draw
