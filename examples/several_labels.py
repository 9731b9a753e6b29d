"""Which of several labels a row has, with a certificate: one ensemble, an output for each label.

Run it with ``python examples/several_labels.py``; the data are drawn here, so that the true rates can be
estimated from fresh rows and set beside what is certified.
"""

import numpy as np
import pandas as pd

from pbgnet import PBGNetMultilabelClassifier
from pbgnet.certificates import round_up

LABELS = ["sport", "music", "travel", "food"]


def draw_visitors(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw visitors of a page: age, minutes and clicks, and what they turn out to be interested in."""
    age, minutes, clicks = rng.uniform(16, 80, n), rng.gamma(2.0, 5.0, n), rng.poisson(6, n)
    tastes = np.column_stack([45 - age, 30 - 0.5 * age + clicks, age + minutes - 60, minutes - 8])
    noise = rng.normal(scale=[12.0, 8.0, 15.0, 3.0], size=(n, 4))
    table = pd.DataFrame({"age": age, "minutes": minutes, "clicks": clicks})
    return table, pd.DataFrame((tastes + noise > 0).astype(int), columns=LABELS)


def main(n_rows: int = 1000, n_fresh: int = 20_000) -> None:
    """Fit, print what is proved, and compare it with fresh rows."""
    rng = np.random.default_rng(0)
    table, labels = draw_visitors(n_rows, rng)
    classifier = PBGNetMultilabelClassifier(per_label=True, random_state=0).fit(table, labels)
    certificate = classifier.certificate_
    print(certificate.statement)
    print(certificate.yardstick)
    print(classifier.verify(table, labels).summary)

    fresh, truth = draw_visitors(n_fresh, rng)
    wrong = classifier.predict(fresh) != truth.to_numpy()
    rows = [("any wrong label", certificate.error_rate, wrong.any(axis=1).mean())]
    rows += [("wrong labels", certificate.hamming_loss, wrong.mean())]
    rows += [
        (f"in {claim.label}", claim, wrong[:, k].mean()) for k, claim in enumerate(certificate.per_label)
    ]
    print(f"{'share of':<18}{'counted':>9}{'certified':>11}{'fresh rows':>12}")
    for name, claim, rate in rows:
        print(f"{name:<18}{claim.empirical_risk:>9.4f}{round_up(claim.value):>11}{rate:>12.4f}")


if __name__ == "__main__":
    main()
