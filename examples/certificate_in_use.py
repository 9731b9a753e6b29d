"""A certificate in use: plan, train, answer when sure, watch a stream that changes half-way, certify anew.

First, how many certified rows the claim takes. Then a classifier is fitted and certified, and answers only
where it is sure; a person gets the other rows. Rows come in batches. Half-way the device that measures one
column goes wrong. All rows are compared with the certified ones; labels come for one row in two, drawn by
lot. The test of change names the column, the monitor raises the alarm, and labelled rows of today make
another certificate.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from pbgnet import ChangeDetector, Monitor, certify, make_certified_pipeline, rows_needed

TRAINED, BATCH, N_BATCHES = 4000, 200, 20
SHIFT = 2.0


def main() -> None:
    """Plan, train, answer, watch, and certify anew."""
    print(f"To show 5 % where 3 % are wrong takes {rows_needed(0.03, 0.05, chance=0.8)} certified rows.")
    X, y = make_classification(9000, 8, n_clusters_per_class=1, class_sep=1.1, flip_y=0.005, random_state=1)  # noqa: N806
    pipeline = make_certified_pipeline(LogisticRegression(), max_error=0.02, random_state=0)
    pipeline.fit(X[:TRAINED], y[:TRAINED])
    print(pipeline.certificate_.summary)
    print(pipeline.certificate_.statement)

    split = pipeline.certified_predictions_.split
    assert split is not None
    change = ChangeDetector(X[split.prior_rows], X[split.certified_rows])
    monitor, told = Monitor(pipeline, alpha=0.01, change=change), False
    column = int(np.argmax([abs(np.corrcoef(values, y)[0, 1]) for values in X.T]))  # it matters most
    X[TRAINED + N_BATCHES // 2 * BATCH :, column] += SHIFT
    by_lot = np.random.default_rng(0)
    for batch in range(N_BATCHES):
        rows = np.arange(TRAINED + batch * BATCH, TRAINED + (batch + 1) * BATCH)
        answered = np.array([answer is not None for answer in pipeline.predict_or_abstain(X[rows])])
        if batch == 0:
            print(f"Of the first {BATCH} rows, {np.sum(~answered)} go to a person.")
        if change.update(X[rows]) and not told:
            print(f"Batch {batch + 1}: rows have changed, in column {', '.join(change.changed_columns)}.")
            told = True
        lot = by_lot.random(BATCH) < 0.5
        labelled = rows[lot]
        if monitor.update(y[labelled], pipeline.predict(X[labelled]), answered=answered[lot]).alarm:
            print(f"Batch {batch + 1}: {monitor.summary}")
            break

    today = certify(pipeline, X[-1000:], y[-1000:])
    print(f"Today: {today.certificate.statement}")


if __name__ == "__main__":
    main()
