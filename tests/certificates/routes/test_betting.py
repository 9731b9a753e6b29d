"""The betting route on real classifiers: closer to the mean than Chernoff, for losses that are not 0 or 1."""

import os
import statistics
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pbgnet.certificates import ROUTES, Foresight, certify, make_claim
from pbgnet.certificates.routes import Measured
from pbgnet.exceptions import DuplicateRowsWarning

TABLES = Path(os.environ.get("PBGNET_DATA", Path(__file__).parents[4] / "shared" / "data")) / "tables"

CLASSIFIERS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "forest": lambda: RandomForestClassifier(60, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
}


def gap_against_chernoff(certified):
    """Distance of the certified loss from its mean, over that of the kl bound on the same rows."""
    claim = certified.certificate.expected_loss
    measured = Measured(np.zeros(claim.evidence.n, dtype=bool), certified.losses.values)
    other = make_claim("classifier", "chernoff", measured, delta=claim.delta)
    return (claim.value - claim.empirical_risk) / (other.value - claim.empirical_risk)


@pytest.mark.parametrize("table", ["spambase", "phoneme"])
def test_it_is_closer_to_the_mean_of_real_losses(table):
    if not (TABLES / f"{table}.csv").is_file():
        pytest.skip("the tables are not there; set PBGNET_DATA")
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(TABLES / f"{table}.csv").sample(frac=1, random_state=0)
    x, y = frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy()
    half = len(y) // 2
    ratios = []
    for make in CLASSIFIERS.values():
        model = make().fit(x[:half], y[:half])
        with pytest.warns(DuplicateRowsWarning):
            certified = [certify(model, x[half:], y[half:], loss=loss) for loss in ("linear", "brier")]
        ratios += map(gap_against_chernoff, certified)
    assert max(ratios) < 1.0
    assert statistics.median(ratios) < 0.8


def test_it_costs_little_where_losses_are_0_and_1():
    rng = np.random.default_rng(0)
    for n, p in ((200, 0.1), (2000, 0.3)):
        measured = Measured(np.zeros(n, dtype=bool), (rng.random(n) < p).astype(float))
        bets = make_claim(
            "classifier", "betting", measured, ROUTES["betting"].plan(Foresight(n, 0.05)), delta=0.05
        )
        kl = make_claim("classifier", "chernoff", measured, delta=0.05)
        assert 1.0 <= (bets.value - bets.empirical_risk) / (kl.value - kl.empirical_risk) < 1.3
