"""Watch a certified classifier on a stream of rows that changes half-way, and certify it anew.

Rows are drawn from one distribution; the first 3000 train and certify a classifier, the others come in
batches. Half-way the device that measures one column goes wrong. All rows are compared with the certified
ones; labels come for one row in two, drawn by lot. The test of change names the column, the monitor raises
the alarm, and rows of today make another certificate.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from pbgnet import ChangeDetector, Monitor, certify, make_certified_pipeline

BATCH, N_BATCHES = 200, 20
SHIFT = 2.0


def main() -> None:
    """Train, certify, watch, and certify anew."""
    X, y = make_classification(8000, 8, n_clusters_per_class=1, class_sep=1.5, random_state=1)  # noqa: N806
    pipeline = make_certified_pipeline(LogisticRegression(), random_state=0)
    pipeline.fit(X[:3000], y[:3000])
    print(pipeline.certificate_.statement)
    split = pipeline.certified_predictions_.split
    assert split is not None
    change = ChangeDetector(X[split.prior_rows], X[split.certified_rows])
    monitor, told = Monitor(pipeline, alpha=0.01, change=change), False
    column = int(np.argmax([abs(np.corrcoef(values, y)[0, 1]) for values in X.T]))  # it matters most
    rng = np.random.default_rng(0)
    X[3000 + N_BATCHES // 2 * BATCH :, column] += SHIFT
    for batch in range(N_BATCHES):
        rows = np.arange(3000 + batch * BATCH, 3000 + (batch + 1) * BATCH)
        if change.update(X[rows]) and not told:
            print(f"Batch {batch + 1}: rows have changed, in column {', '.join(change.changed_columns)}.")
            told = True
        labelled = rows[rng.random(BATCH) < 0.5]
        if monitor.update(y[labelled], pipeline.predict(X[labelled])).alarm:
            print(f"Batch {batch + 1}: {monitor.summary}")
            break
    today = certify(pipeline, X[7000:], y[7000:])
    print(f"Today: {today.certificate.statement}")


if __name__ == "__main__":
    main()
