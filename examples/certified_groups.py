"""Show that no group is worse off than stated: error rates of groups, from above and from below.

A table is made up in which labels of one town are noisier. The column of the town is no feature; it is given
as groups. Half of the rows train the networks; the errors on the other half give each town an interval for
its error rate, and a bound on the largest difference between two towns, all of it together.
"""

import numpy as np
import pandas as pd

from pbgnet import PBGNetClassifier, make_certified_pipeline
from pbgnet.certificates import round_down, round_up


def make_table(n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """Return features, towns and labels of n loans."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"income": rng.normal(size=n), "age": rng.integers(18, 90, n)})
    towns = pd.Series(rng.choice(["north", "south", "east"], n, p=[0.6, 0.37, 0.03]))
    noise = np.where(towns == "south", 0.12, 0.03)
    repaid = (table["income"] + table["age"] / 60 > 0.8) == (rng.random(n) > noise)
    return table, towns, np.where(repaid, "repaid", "lost")


def main() -> None:
    """Fit, certify by group, print, and verify."""
    table, towns, labels = make_table(6000)
    pipeline = make_certified_pipeline(PBGNetClassifier(random_state=0, max_epochs=20))
    certificate = pipeline.fit(table, labels, groups=towns).certificate_
    print(certificate.statement)
    for group in certificate.by_group:
        interval = f"{round_down(group.lower)} to {round_up(group.upper)}"
        print(f"{group.name:>8}  {interval}  ({group.n_errors} wrong of {group.n})")
    print(f"any two differ by at most {round_up(certificate.largest_group_difference or 0.0)}")
    print(certificate.delta_plan)
    print(pipeline.verify(table, labels, groups=towns).summary)


if __name__ == "__main__":
    main()
